import type { Command } from '@penstock/kernel/message.ts'

/** The commands of a contract with what enrichment adds to some of them before they are decided. */
export type Enriched<C extends Command, Extra extends Record<string, object>> =
  C extends Command<infer Type, infer Data> ? (Type extends keyof Extra ? Command<Type, With<Data, Extra[Type]>> : C) : never

/** A command without data has an index of nothing, which would forbid whatever is added to it. */
type With<Data, Extra> = string extends keyof Data ? Extra : Data & Extra
