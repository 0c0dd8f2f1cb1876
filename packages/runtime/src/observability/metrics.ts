import { commandsFrom, type Contract, sendersOf } from '@penstock/contracts/define.ts'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/**
 * The metrics of this process for Prometheus. A process has one registry, because each metric name has one meaning in a
 * process. Labels have few values: types, names and states, never ids. The label of a service is `component`, because
 * Kubernetes adds a label `service` to every series.
 */
export const registry = new Registry()
const registers = [registry]

/** Upper bounds in seconds. They distinguish usual durations, and show outliers of a minute and more. */
export const DURATION_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Commands that were decided here; `outcome` is `accepted`, `repeated` or `refused`. */
export const commandsHandled = new Counter({
  name: 'penstock_commands_handled_total',
  help: 'Commands that were decided, by service, type and outcome.',
  labelNames: ['component', 'type', 'outcome'] as const,
  registers,
})

/** Commands from the bus that their sender never sends, which means that another process impersonates the sender. */
export const commandsDropped = new Counter({
  name: 'penstock_commands_dropped_total',
  help: 'Commands from the bus that were dropped because their sender never sends such a command.',
  labelNames: ['component', 'sender'] as const,
  registers,
})

/** Frequent late commands mean that this service is overloaded, or that its clock is ahead of its senders'. */
export const commandsLate = new Counter({
  name: 'penstock_commands_late_total',
  help: 'Commands from the bus that were dropped because their deadline had passed.',
  labelNames: ['component', 'type'] as const,
  registers,
})

export const commandSeconds = new Histogram({
  name: 'penstock_command_duration_seconds',
  help: 'Time from the receipt of a command to its stored decision, including the wait for its turn.',
  labelNames: ['component'] as const,
  buckets: DURATION_BUCKETS,
  registers,
})

export const messagesParked = new Counter({
  name: 'penstock_messages_parked_total',
  help: 'Messages that were parked because this version can never handle them, by consumer.',
  labelNames: ['consumer'] as const,
  registers,
})

/** Increases while a newer version is rolled out, and has to stop when the rollout ends. */
export const newerMessageTries = new Counter({
  name: 'penstock_newer_messages_tries_total',
  help: 'Tries to handle messages of a newer version. These messages wait for a process of that version.',
  labelNames: ['consumer'] as const,
  registers,
})

/** Every fact that this process appended. Their rates show the activity of the market. */
export const factsAppended = new Counter({
  name: 'penstock_facts_appended_total',
  help: 'Appended facts, by type and by the category of their stream.',
  labelNames: ['category', 'type'] as const,
  registers,
})

/** Starts each series with a 0, so that alerts see its first event as an increase. */
export function initialiseCounters(
  service: string,
  contracts: readonly Pick<Contract, 'category' | 'facts' | 'commands'>[],
): void {
  for (const contract of contracts) {
    const { category, facts } = contract
    for (const type of Object.keys(facts)) factsAppended.inc({ category, type }, 0)
    for (const sender of sendersOf(contract)) {
      commandsDropped.inc({ component: service, sender }, 0)
      for (const type of commandsFrom(contract, sender)) commandsLate.inc({ component: service, type }, 0)
    }
  }
  appendConflicts.inc({ component: service }, 0)
  appendsUnknown.inc({ component: service }, 0)
  relayLeaseHeld.set({ component: service }, 0)
}

export const appendConflicts = new Counter({
  name: 'penstock_append_conflicts_total',
  help: 'Appends that conflicted with another append, so that the command was decided again.',
  labelNames: ['component'] as const,
  registers,
})

export const appendsUnknown = new Counter({
  name: 'penstock_append_unknown_outcomes_total',
  help: 'Appends that were retried because their outcome was not known.',
  labelNames: ['component'] as const,
  registers,
})

/** Facts of other services that a reaction or a projection has handled. */
export const factsConsumed = new Counter({
  name: 'penstock_facts_consumed_total',
  help: 'Facts that a consumer has handled.',
  labelNames: ['consumer'] as const,
  registers,
})

export const factDelay = new Histogram({
  name: 'penstock_fact_delay_seconds',
  help: 'Time from a fact to the end of its handling by a consumer.',
  labelNames: ['consumer'] as const,
  buckets: DURATION_BUCKETS,
  registers,
})

export const factsRelayed = new Counter({
  name: 'penstock_facts_relayed_total',
  help: "Facts that a service's relay has published.",
  labelNames: ['component'] as const,
  registers,
})

export const relayLeaseHeld = new Gauge({
  name: 'penstock_relay_held',
  help: "1 while this process has the lease of a service's relay.",
  labelNames: ['component'] as const,
  registers,
})

/** The series of a process vanish when it ends, so a component without any series is not running. */
export const componentRunning = new Gauge({
  name: 'penstock_component_running',
  help: '1 for each service or other component that this process has started.',
  labelNames: ['component'] as const,
  registers,
})

export const effectsRunning = new Gauge({
  name: 'penstock_effects_running',
  help: 'Effects that have started and whose outcome is not recorded, including effects that wait for their next try.',
  labelNames: ['component', 'effect'] as const,
  registers,
})

/** `outcome` is `recorded`, `nothing-new`, `not-asked` (the state no longer requests the effect), or `failed` (and retried). */
export const effectTries = new Counter({
  name: 'penstock_effect_tries_total',
  help: 'Tries of effects, by outcome.',
  labelNames: ['component', 'effect', 'outcome'] as const,
  registers,
})

export const effectSeconds = new Histogram({
  name: 'penstock_effect_duration_seconds',
  help: 'Duration of one try of an effect.',
  labelNames: ['component', 'effect'] as const,
  buckets: DURATION_BUCKETS,
  registers,
})

export const timersFired = new Counter({
  name: 'penstock_timers_fired_total',
  help: 'Handled deadlines, by outcome. A failed deadline is retried.',
  labelNames: ['component', 'outcome'] as const,
  registers,
})
