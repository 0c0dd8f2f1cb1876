import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/**
 * What this process tells Prometheus. One registry for each process, since a name means one thing in it. Labels have few
 * values each: types, names and states, never an id. A service is called `component`, since `service` is a label that
 * Kubernetes puts on everything.
 */
export const registry = new Registry()
const registers = [registry]

/** Up to a minute and more: what takes longer than its neighbours shows, what is usual is told apart. */
export const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Commands that came to their end here: `outcome` is `accepted`, `repeated` or `refused`. */
export const commandsHandled = new Counter({
  name: 'penstock_commands_handled_total',
  help: 'Commands that were decided, by service, type and outcome.',
  labelNames: ['component', 'type', 'outcome'] as const,
  registers,
})

export const commandSeconds = new Histogram({
  name: 'penstock_command_duration_seconds',
  help: 'From taking up a command to its decision on disk, waiting for its turn included.',
  labelNames: ['component'] as const,
  buckets: SECONDS,
  registers,
})

export const messagesParked = new Counter({
  name: 'penstock_messages_parked_total',
  help: 'Messages that could never be handled as the code is, by who was to handle them.',
  labelNames: ['consumer'] as const,
  registers,
})

/** Shows while a newer version is rolled out, and has to end with that. */
export const newerTries = new Counter({
  name: 'penstock_newer_messages_tries_total',
  help: 'Tries to handle messages that a newer version wrote; they wait for a process of that version.',
  labelNames: ['consumer'] as const,
  registers,
})

/** Every fact that this process wrote: what the market did, as rates. */
export const factsAppended = new Counter({
  name: 'penstock_facts_appended_total',
  help: 'Facts that were appended, by the category of their stream and their type.',
  labelNames: ['category', 'type'] as const,
  registers,
})

/** Series that begin with a 0: what happens for the first time is an increase then, and alerts see it. */
export function beginAtZero(service: string, categories: readonly { readonly category: string; readonly facts: object }[]): void {
  for (const { category, facts } of categories) for (const type of Object.keys(facts)) factsAppended.inc({ category, type }, 0)
  appendConflicts.inc({ component: service }, 0)
  appendsUnknown.inc({ component: service }, 0)
  relayHeld.set({ component: service }, 0)
}

export const appendConflicts = new Counter({
  name: 'penstock_append_conflicts_total',
  help: 'Appends that found the stream grown, and were decided again.',
  labelNames: ['component'] as const,
  registers,
})

export const appendsUnknown = new Counter({
  name: 'penstock_append_unknown_outcomes_total',
  help: 'Appends whose outcome was not known at first, and which were tried again.',
  labelNames: ['component'] as const,
  registers,
})

/** Facts of others that a reaction or a projection has dealt with. */
export const factsConsumed = new Counter({
  name: 'penstock_facts_consumed_total',
  help: 'Facts that a consumer has dealt with.',
  labelNames: ['consumer'] as const,
  registers,
})

export const factDelay = new Histogram({
  name: 'penstock_fact_delay_seconds',
  help: 'From the time of a fact to the end of its handling by a consumer.',
  labelNames: ['consumer'] as const,
  buckets: SECONDS,
  registers,
})

export const factsRelayed = new Counter({
  name: 'penstock_facts_relayed_total',
  help: "Facts that a service's relay has published.",
  labelNames: ['component'] as const,
  registers,
})

export const relayHeld = new Gauge({
  name: 'penstock_relay_held',
  help: "1 while this process has the lease of a service's relay.",
  labelNames: ['component'] as const,
  registers,
})

/** A process that is gone takes its series along: that none is left with a name is what tells. */
export const componentRunning = new Gauge({
  name: 'penstock_component_running',
  help: '1 for each service, and other part of the market, that this process has started.',
  labelNames: ['component'] as const,
  registers,
})

export const effectsRunning = new Gauge({
  name: 'penstock_effects_running',
  help: 'Effects that were begun and are not recorded, those that wait for their next try included.',
  labelNames: ['component', 'effect'] as const,
  registers,
})

/** `outcome`: `recorded`, `nothing-new`, `not-asked` (the state had moved on), or `failed` and tried again. */
export const effectTries = new Counter({
  name: 'penstock_effect_tries_total',
  help: 'Tries of effects, by outcome.',
  labelNames: ['component', 'effect', 'outcome'] as const,
  registers,
})

export const effectSeconds = new Histogram({
  name: 'penstock_effect_duration_seconds',
  help: 'How long one try of an effect took.',
  labelNames: ['component', 'effect'] as const,
  buckets: SECONDS,
  registers,
})

export const timersFired = new Counter({
  name: 'penstock_timers_fired_total',
  help: 'Deadlines that were carried out, or failed and are tried again.',
  labelNames: ['component', 'outcome'] as const,
  registers,
})
