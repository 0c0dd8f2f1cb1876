import { Counter, Registry } from 'prom-client'

/** What this process tells Prometheus. One registry for each process, since a name means one thing in it. */
export const registry = new Registry()

/** Commands that came to their end here: `outcome` is `accepted`, `repeated` or `refused`. */
export const commandsHandled = new Counter({
  name: 'penstock_commands_handled_total',
  help: 'Commands that were decided, by service and outcome.',
  labelNames: ['service', 'outcome'] as const,
  registers: [registry],
})

/** Facts of others that a reaction or a projection has dealt with. */
export const factsConsumed = new Counter({
  name: 'penstock_facts_consumed_total',
  help: 'Facts that a consumer has dealt with.',
  labelNames: ['consumer'] as const,
  registers: [registry],
})
