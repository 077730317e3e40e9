// A picture in an article opens in its own size when it is clicked; a click, or Escape, closes it.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.appendChild(document.createElement("img"));
  dialog.addEventListener("click", () => dialog.close());
  document.body.appendChild(dialog);
  document.querySelectorAll(".bd-article img").forEach(picture => {
    if (picture.closest("a:not(.image-reference), .sphx-glr-thumbcontainer, .sd-card")) return;
    picture.classList.add("enlarges");
    picture.title = picture.title || "Click to enlarge";
    picture.addEventListener("click", event => {
      event.preventDefault();
      dialog.firstChild.src = picture.currentSrc || picture.src;
      dialog.firstChild.alt = picture.alt;
      dialog.showModal();
    });
  });
});
