import type { Command } from '@penstock/kernel/message.ts'

/** The commands of a contract, with the data that enrichment adds to some of them before the decision. */
export type EnrichedCommand<C extends Command, Extra extends Record<string, object>> =
  C extends Command<infer Type, infer Data>
    ? Type extends keyof Extra
      ? Command<Type, MergedData<Data, Extra[Type]>>
      : C
    : never

/** The type of empty data has an index signature of `never`, which would forbid added data. */
type MergedData<Data, Extra> = string extends keyof Data ? Extra : Data & Extra
