import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { ProcessStep } from '@penstock/kernel/process.ts'
import type { Aggregate, EffectSpec, Service, ServiceContext, ServiceJob } from '@penstock/runtime/service.ts'

/** Two messages or calls of which one follows from the other: `<cause> > <consequence>`. */
export type FlowLink = string
type Record = (link: FlowLink) => void

/** All links that a service declares. */
export const listDeclaredLinks = ({ name, aggregates, jobs }: Service<never>): readonly FlowLink[] => [
  ...aggregates.flatMap(({ contract: { category, records }, follows = {}, effects = {} }) => [
    ...linksOf(records, (type) => `${category}.${type}`),
    ...linksOf(follows, (type) => `${category}.${type}`),
    ...Object.entries(effects).flatMap(([effect, { calls, outcomes }]) =>
      [...calls, ...outcomes].map((consequence) => `effect ${category}.${effect} > ${consequence}`),
    ),
  ]),
  ...jobs.flatMap(({ name: job, sends = [] }) => sends.map((command) => `job ${name}.${job} > ${command}`)),
]

const linksOf = (
  declared: Readonly<{ [cause: string]: readonly string[] | undefined }>,
  causeOf: (name: string) => string,
): readonly FlowLink[] =>
  Object.entries(declared).flatMap(([name, consequences = []]) =>
    consequences.map((consequence) => `${causeOf(name)} > ${consequence}`),
  )

/** @returns the service, which also records the links that it really follows */
export const recordFlow = <Ports>(service: Service<Ports>, record: Record): Service<Ports> => ({
  ...service,
  aggregates: service.aggregates.map((aggregate) => recordAggregate(aggregate, record)),
  jobs: service.jobs.map((job) => recordJob(service.name, job, record)),
})

function recordAggregate<Ports>(aggregate: Aggregate<Ports>, record: Record): Aggregate<Ports> {
  const { contract, decider, effects = {} } = aggregate
  const { category } = contract
  return {
    ...aggregate,
    decider: {
      ...decider,
      decide(state, command) {
        const decision = decider.decide(state, command)
        if ('facts' in decision) {
          for (const { type } of decision.facts) record(`${category}.${command.type} > ${type}`)
          recordSteps(aggregate, state, decision.facts, record)
        }
        return decision
      },
    },
    effects: Object.fromEntries(
      Object.entries(effects).map(([name, effect]) => [
        name,
        recordEffect(effect, (link) => record(`effect ${category}.${name} > ${link}`)),
      ]),
    ),
  }
}

/** Records each step that an append adds, as a consequence of the first of its facts after which the process requests it. */
function recordSteps<Ports>(
  { contract: { category }, decider, process }: Aggregate<Ports>,
  state: unknown,
  facts: readonly Fact[],
  record: Record,
): void {
  if (!process) return
  const states = facts.reduce((folded, fact) => [...folded, decider.evolve(folded.at(-1), fact)], [state])
  const requested = states.map((one) => new Map(process(one, 'id').map((step) => [keyOf(step), step])))
  for (const [key, step] of requested.at(-1) ?? []) {
    const cause = facts[requested.findLastIndex((steps) => !steps.has(key))]
    if (cause) record(`${category}.${cause.type} > ${nameOf(step)}`)
  }
}

const keyOf = (step: ProcessStep): string =>
  step.kind === 'deadline' ? `deadline ${step.step} ${JSON.stringify(step.due)}` : `${step.kind} ${step.step} ${step.attempt}`

function nameOf(step: ProcessStep<Command>): string {
  switch (step.kind) {
    case 'command':
      return `${step.category}.${step.command.type}`
    case 'effect':
      return step.effect
    case 'deadline':
      return step.command.type
  }
}

const recordEffect = <Ports>(effect: EffectSpec<unknown, Ports>, record: Record): EffectSpec<unknown, Ports> => ({
  ...effect,
  async act(state, context) {
    const outcome = await effect.act(state, { ...context, ports: recordCalls(context.ports, record) })
    if (outcome) record(outcome.type)
    return outcome
  },
})

/** The ports that every service has. */
const BASE_PORTS = ['clock', 'ids', 'limits', 'config', 'log', 'gauges', 'tracing']

/** @returns the ports, which record each call of a function, except of the base ports */
function recordCalls<Ports extends object>(ports: Ports, record: Record, path = ''): Ports {
  return new Proxy(ports, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof key !== 'string' || (path === '' && BASE_PORTS.includes(key))) return value
      if (typeof value === 'object' && value !== null) return recordCalls(value, record, `${path}${key}.`)
      if (typeof value !== 'function') return value
      return (...args: readonly unknown[]): unknown => {
        record(`${path}${key}`)
        return Reflect.apply(value, target, args)
      }
    },
  })
}

const recordJob = <Ports>(service: string, job: ServiceJob<Ports>, record: Record): ServiceJob<Ports> => ({
  ...job,
  run(context, signal) {
    const recording: ServiceContext<Ports> = {
      ...context,
      decide(request, commandId) {
        record(`job ${service}.${job.name} > ${request.category}.${request.command.type}`)
        return context.decide(request, commandId)
      },
      send(request, options) {
        record(`job ${service}.${job.name} > ${request.category}.${request.command.type}`)
        return context.send(request, options)
      },
    }
    return job.run(recording, signal)
  },
})
