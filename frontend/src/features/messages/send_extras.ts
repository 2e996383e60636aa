/** When and how a message is delivered, as the form has it and as the API wants it. Pure. */
export interface Extras {
  when: "now" | "level" | "ms" | "at";
  level: number;
  ms: number;
  at: string;
  sharding: string;
  isTransactional: boolean;
}

export const NO_EXTRAS: Extras = {
  when: "now",
  level: 1,
  ms: 1000,
  at: "",
  sharding: "",
  isTransactional: false,
};

export function extrasOf(extras: Extras) {
  return {
    ...(extras.when === "level" && { delay_level: extras.level }),
    ...(extras.when === "ms" && { delay_ms: extras.ms }),
    ...(extras.when === "at" && extras.at !== "" && { deliver_at: extras.at }),
    ...(extras.sharding.trim() !== "" && { sharding_key: extras.sharding.trim() }),
    is_transactional: extras.isTransactional,
  };
}
