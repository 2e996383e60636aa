import { textsOf } from "@/shared/texts/i18n";
import { en } from "./en";
import { zh } from "./zh";

export const useTexts = textsOf("reports", en, zh);
