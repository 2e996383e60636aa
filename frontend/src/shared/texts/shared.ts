/** The words of shared parts; features have their own. */
import { en } from "./en";
import { textsOf } from "./i18n";
import { zh } from "./zh";

export const useShared = textsOf("shared", en, zh);
