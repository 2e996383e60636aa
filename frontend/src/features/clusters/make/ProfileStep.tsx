/** How much may be lost, and who needs credentials, in words, before anything is made. */
import {
  Box,
  Collapse,
  Radio,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { PROFILES, SEGMENTS } from "../search";
import { useTexts } from "../texts";
import { AccessChoice } from "./AccessChoice";
import type { StepProps } from "./CreateWizard";
import type { Draft } from "./draft";
import classes from "./Make.module.css";

export function ProfileStep({ draft, setDraft }: StepProps) {
  const t = useTexts();
  const [isOpen, more] = useDisclosure(draft.segment !== "default" || draft.release !== "builtin");
  return (
    <Stack gap="md">
      <Radio.Group
        value={draft.profile}
        onChange={(profile) => setDraft({ profile: profile as Draft["profile"] })}
        aria-label={t("make.step.profile")}
      >
        <SimpleGrid cols={{ base: 1, md: 3 }}>
          {PROFILES.map((profile) => (
            <Radio.Card key={profile} value={profile} className={classes.card} data-profile={profile}>
              <Box className={classes.cardTitle}>
                <Radio.Indicator size="xs" />
                <b>{t(`profile.${profile}`)}</b>
              </Box>
              <Text size="xs" c="dimmed" mt={6}>
                {t("profile.loss")}
              </Text>
              <Text size="sm">{t(`profile.${profile}Loss`)}</Text>
              <Text size="sm" c="dimmed" mt={8}>
                {t(`profile.${profile}How`)}
              </Text>
            </Radio.Card>
          ))}
        </SimpleGrid>
      </Radio.Group>
      <AccessChoice value={draft.access} onChange={(access) => setDraft({ access })} />
      <Box>
        <UnstyledButton onClick={more.toggle} aria-expanded={isOpen} className={classes.moreButton}>
          {isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          {t("make.advanced")}
        </UnstyledButton>
        <Collapse expanded={isOpen}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} pt="sm">
            <Select
              label={t("make.segment")}
              description={t("make.segmentHint")}
              value={draft.segment}
              onChange={(segment) => setDraft({ segment: (segment ?? "default") as Draft["segment"] })}
              data={SEGMENTS.map((one) => ({ value: one, label: t(`make.segments.${one}`) }))}
            />
            <TextInput
              label={t("make.release")}
              value={draft.release}
              onChange={(event) => setDraft({ release: event.currentTarget.value.trim() })}
              spellCheck={false}
            />
          </SimpleGrid>
        </Collapse>
      </Box>
    </Stack>
  );
}
