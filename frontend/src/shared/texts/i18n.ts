/**
 * Texts in English and Chinese. Every area has its own, typed by the English ones:
 *
 *     export const useTexts = textsOf("topics", en, zh);        zh: Same<typeof en>, so a missing key is a type error
 *     const t = useTexts();  t("list.title")  t("rows", { count: 3 })
 *
 * Keys that end in `_one` and `_other` are one key with a count. Values are put in as text: React escapes them.
 */
import i18next from "i18next";
import { useMemo, useSyncExternalStore } from "react";

export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];
/** How numbers and times are written in it. */
const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };
const KEPT_AS = "signalbox.language";

export interface Texts {
  [key: string]: string | Texts;
}
export type Same<T> = { [K in keyof T]: T[K] extends string ? string : Same<T[K]> };

type Counted<K extends string> = K extends `${infer Stem}_one` | `${infer Stem}_other` ? Stem : K;
export type KeyOf<T> = {
  [K in keyof T & string]: T[K] extends string ? Counted<K> : `${K}.${KeyOf<T[K]>}`;
}[keyof T & string];
export type Say<T> = (key: KeyOf<T>, values?: Record<string, string | number>) => string;

void i18next.init({
  lng: firstLanguage(),
  fallbackLng: "en",
  ns: [],
  interpolation: { escapeValue: false },
  resources: {},
  // Texts come with their code: nothing is ever waited for.
  initAsync: false,
  showSupportNotice: false,
} as Parameters<typeof i18next.init>[0]);

export function textsOf<T extends Texts>(area: string, en: T, zh: Same<T>) {
  i18next.addResourceBundle("en", area, en);
  i18next.addResourceBundle("zh", area, zh);
  return function useTexts(): Say<T> {
    const language = useLanguage();
    return useMemo(() => i18next.getFixedT(language, area) as unknown as Say<T>, [language]);
  };
}

export function useLanguage(): Language {
  return useSyncExternalStore(onLanguage, currentLanguage);
}

/** For Intl. */
export function useLocale(): string {
  return LOCALES[useLanguage()];
}

export function currentLanguage(): Language {
  return i18next.language === "zh" ? "zh" : "en";
}

export function setLanguage(language: Language) {
  localStorage.setItem(KEPT_AS, language);
  document.documentElement.lang = LOCALES[language];
  void i18next.changeLanguage(language);
}

function onLanguage(listener: () => void): () => void {
  i18next.on("languageChanged", listener);
  return () => {
    i18next.off("languageChanged", listener);
  };
}

function firstLanguage(): Language {
  const wanted = localStorage.getItem(KEPT_AS) ?? navigator.language;
  const language = wanted.startsWith("zh") ? "zh" : "en";
  document.documentElement.lang = LOCALES[language];
  return language;
}
