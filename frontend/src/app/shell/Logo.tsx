/** The way home. */
import { Link } from "@tanstack/react-router";
import mark from "/signalbox.svg";
import classes from "./Shell.module.css";

const NAME = "Signalbox";

export function Logo() {
  return (
    <Link to="/" className={classes.logo}>
      <img src={mark} alt="" width={24} height={24} />
      {NAME}
    </Link>
  );
}
