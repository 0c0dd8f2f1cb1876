import type { Command } from '@penstock/kernel/message.ts'

/** The commands of a contract with what enrichment adds to some of them before they are decided. */
export type Enriched<C extends Command, Extra extends Record<string, object>> =
  C extends Command<infer Type, infer Data> ? (Type extends keyof Extra ? Command<Type, Data & Extra[Type]> : C) : never
