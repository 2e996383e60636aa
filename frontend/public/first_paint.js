// Sets the theme before the first paint, so that a dark page does not flash white.
(function () {
  var kept = null;
  try {
    kept = window.localStorage.getItem("mantine-color-scheme-value");
  } catch {
    // No storage: the system's choice.
  }
  var isDark =
    kept === "dark" || (kept !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  var root = document.documentElement;
  root.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
  root.style.backgroundColor = isDark ? "#0f151c" : "#f7f8fa";
})();
