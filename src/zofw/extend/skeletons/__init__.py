"""What `zofw new` begins with: a method, a set, a law and a problem that work as they stand."""
