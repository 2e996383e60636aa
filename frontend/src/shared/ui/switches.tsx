/** Language and theme: kept in this browser. */
import {
  SegmentedControl,
  useMantineColorScheme,
  type MantineColorScheme,
  VisuallyHidden,
} from "@mantine/core";
import { IconDeviceDesktop, IconMoon, IconSun } from "@tabler/icons-react";
import { LANGUAGES, type Language, setLanguage, textsOf, useLanguage } from "@/shared/texts/i18n";

const useTexts = textsOf(
  "switches",
  {
    language: "Language",
    theme: "Theme",
    light: "Light",
    dark: "Dark",
    auto: "As the system",
    en: "English",
    zh: "中文",
  },
  {
    language: "语言",
    theme: "主题",
    light: "浅色",
    dark: "深色",
    auto: "跟随系统",
    en: "English",
    zh: "中文",
  },
);

export function LanguageSwitch() {
  const t = useTexts();
  const language = useLanguage();
  return (
    <SegmentedControl
      aria-label={t("language")}
      value={language}
      onChange={(value) => setLanguage(value as Language)}
      data={LANGUAGES.map((value) => ({ value, label: t(value) }))}
    />
  );
}

const ICONS = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const;

export function ThemeSwitch() {
  const t = useTexts();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      aria-label={t("theme")}
      value={colorScheme}
      onChange={(value) => setColorScheme(value as MantineColorScheme)}
      data={(["light", "dark", "auto"] as const).map((value) => {
        const Icon = ICONS[value];
        return {
          value,
          label: (
            <span title={t(value)} style={{ display: "flex", padding: "2px 0" }}>
              <Icon size={15} aria-hidden />
              <VisuallyHidden>{t(value)}</VisuallyHidden>
            </span>
          ),
        };
      })}
    />
  );
}
