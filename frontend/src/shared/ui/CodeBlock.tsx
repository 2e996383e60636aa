/** A command or a document, to be copied. Text only. */
import { CopyButton } from "./CopyButton";
import classes from "./TextBody.module.css";

export function CodeBlock({ code, label, wrap = false }: { code: string; label: string; wrap?: boolean }) {
  return (
    <div className={classes.frame}>
      {/* A region that scrolls must be reachable by keyboard. */}
      <pre
        className={`${classes.text} ${wrap ? classes.wrapped : ""}`}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {code}
      </pre>
      <div className={classes.corner}>
        <CopyButton value={code} name={label} />
      </div>
    </div>
  );
}
