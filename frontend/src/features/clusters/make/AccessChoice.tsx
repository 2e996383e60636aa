/** Who needs credentials: the three states of access control, with a line each. */
import { Box, Radio, SimpleGrid, Text } from "@mantine/core";
import { ACCESS_STATES, type AccessState } from "../search";
import { useTexts } from "../texts";
import classes from "./Make.module.css";

interface Props {
  value: AccessState;
  onChange: (state: AccessState) => void;
}

export function AccessChoice({ value, onChange }: Props) {
  const t = useTexts();
  return (
    <Radio.Group label={t("access.title")} value={value} onChange={(state) => onChange(state as AccessState)}>
      <SimpleGrid cols={{ base: 1, md: 3 }} mt={6}>
        {ACCESS_STATES.map((state) => (
          <Radio.Card key={state} value={state} className={classes.card} data-access={state}>
            <Box className={classes.cardTitle}>
              <Radio.Indicator size="xs" />
              <b>{t(`access.${state}`)}</b>
            </Box>
            <Text size="sm" c="dimmed" mt={6}>
              {t(`access.${state}Hint`)}
            </Text>
          </Radio.Card>
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}
