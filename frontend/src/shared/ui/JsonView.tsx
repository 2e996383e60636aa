/** A JSON text, indented and coloured. Numbers keep every digit: they are never parsed. */
import { useMemo } from "react";
import { cut } from "@/shared/format/plain_text";
import { indentJson, jsonTokens } from "@/shared/format/json_text";
import { CopyButton } from "./CopyButton";
import { PlainText, SHOWN_CHARACTERS } from "./TextBody";
import classes from "./TextBody.module.css";

export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => indentJson(typeof value === "string" ? value : JSON.stringify(value)), [value]);
  const tokens = useMemo(() => jsonTokens(cut(text, SHOWN_CHARACTERS)), [text]);
  return (
    <div className={classes.frame}>
      <pre className={`${classes.text} ${classes.wrapped}`} tabIndex={0} role="region" aria-label={label}>
        {tokens.map((token, number) => (
          <span key={number} className={token.kind ? classes[token.kind] : undefined}>
            <PlainText text={token.text} />
          </span>
        ))}
      </pre>
      <div className={classes.corner}>
        <CopyButton value={text} name={label} />
      </div>
    </div>
  );
}
