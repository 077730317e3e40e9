"""Ask and tell for laboratories, queues and people: requests out, answers in any order, in memory or in a folder."""

from zofw.desk.desk import Desk
from zofw.desk.folder import Look
from zofw.desk.reply import AnswerError, write_answer
from zofw.desk.request import Request, read_request

__all__ = ["AnswerError", "Desk", "Look", "Request", "read_request", "write_answer"]
