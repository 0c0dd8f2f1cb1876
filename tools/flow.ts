import type { Contract } from '../packages/contracts/src/define.ts'
import type { Service } from '../packages/runtime/src/service.ts'
import { createGatewayService } from '../services/gateway/src/service.ts'
import { createStreamServices } from '../services/standalone/src/registry.ts'
import type { GeneratedFiles } from './generated-files.ts'

/** A command, a fact or an effect, as `<category>.<name>`. */
type Name = string
/** A command or an effect that follows from a fact, or the command that records the outcome of an effect. */
type Consequence = { readonly name: Name; readonly kind: 'command' | 'deadline' | 'effect' | 'outcome'; readonly service: string }

const gateway: Service<never> = createGatewayService({ pepper: new Uint8Array() })
const services: readonly Service<never>[] = createStreamServices()
const aggregates = services.flatMap((service) => service.aggregates.map((aggregate) => ({ ...aggregate, service: service.name })))
const contracts: readonly Contract[] = aggregates.map(({ contract }) => contract)

/** The consequences of each fact and each effect. */
const consequences: ReadonlyMap<Name, readonly Consequence[]> = collectConsequences()
/** The facts that each command may record. */
const facts: ReadonlyMap<Name, readonly Name[]> = new Map(
  contracts.flatMap(({ category, records }) =>
    Object.entries(records).map(([command, recorded]) => [
      `${category}.${command}`,
      recorded.map((fact) => `${category}.${fact}`),
    ]),
  ),
)

function collectConsequences(): ReadonlyMap<Name, readonly Consequence[]> {
  const found = new Map<Name, readonly Consequence[]>()
  const add = (cause: Name, consequence: Consequence): void => void found.set(cause, [...(found.get(cause) ?? []), consequence])
  for (const { service, contract, follows = {}, effects = {} } of aggregates) {
    const { category } = contract
    for (const [fact, steps = []] of Object.entries(follows))
      for (const step of steps) {
        const kind = step in effects ? 'effect' : step in contract.commands ? 'deadline' : 'command'
        add(`${category}.${fact}`, { name: kind === 'command' ? step : `${category}.${step}`, kind, service })
      }
    for (const [effect, { outcomes }] of Object.entries(effects))
      for (const outcome of outcomes) add(`${category}.${effect}`, { name: `${category}.${outcome}`, kind: 'outcome', service })
  }
  for (const { name: service, reactions } of services)
    for (const { contract, type, sends } of reactions)
      add(`${contract.category}.${type}`, { name: sends, kind: 'command', service })
  return found
}

/** A part of a purchase, from an action of the outside world. `facts` are on its way, in this order. */
type Stage = { readonly title: string; readonly start: Name; readonly facts: readonly Name[] }

const PURCHASE: readonly Stage[] = [
  {
    title: 'The buyer calls `liquidity.buy`, and gets an invoice',
    start: 'quote.RequestQuote',
    facts: ['order.SellerAccepted', 'order.HoldIssuedRecorded'],
  },
  {
    title: 'The buyer pays, and a seller is asked to open',
    start: 'settlement.RecordHeld',
    facts: ['order.PaymentHeld', 'order.AttemptStarted', 'order.ChannelOpenRequested'],
  },
  {
    title: 'The seller gives its invoice',
    start: 'order.Accept',
    facts: ['settlement.PayoutInvoiceSubmitted', 'order.PayoutInvoiceAcceptedRecorded'],
  },
  {
    title: 'The seller submits its funding outpoint',
    start: 'order.SubmitOutpoint',
    facts: ['order.OutpointSubmitted', 'order.OutpointAccepted', 'channel.WatchStarted'],
  },
  {
    title: 'The funding confirms, and the payment is settled',
    start: 'channel.Observe',
    facts: ['channel.ConfirmationsReached', 'settlement.SettlementStarted', 'order.OrderValid', 'channel.LeaseStarted'],
  },
  {
    title: 'The seller is paid',
    start: 'settlement.Guard',
    facts: ['settlement.PayoutRequested', 'settlement.PayoutSucceeded', 'order.PayoutStatusRecorded'],
  },
]

/** A step of a way: a recorded fact, or a consequence. */
type Step = { readonly name: Name; readonly kind: 'fact' } | Consequence

/** @returns the shortest way from a message to a later fact, without the message */
function findPath(start: Name, end: Name): readonly Step[] {
  const ways: { readonly last: Name; readonly steps: readonly Step[] }[] = [{ last: start, steps: [] }]
  const reached = new Set([start])
  for (const { last, steps } of ways) {
    if (last === end) return steps
    const next: readonly Step[] =
      facts.get(last)?.map((name) => ({ name, kind: 'fact' as const })) ?? consequences.get(last) ?? []
    for (const step of next.filter(({ name }) => !reached.has(name))) {
      reached.add(step.name)
      ways.push({ last: step.name, steps: [...steps, step] })
    }
  }
  throw new Error(`${end} does not follow from ${start}: correct PURCHASE in tools/flow.ts, or the declarations of the services`)
}

const link = (name: Name, text = name): string => `[\`${text}\`](#${name})`
const anchor = (name: Name): string => `<a id="${name}"></a>\`${name.slice(name.indexOf('.') + 1)}\``

/** Renders a line for each command of the stage. */
function renderStage({ title, start, facts: waypoints }: Stage): string {
  const lines = [`${sendersOf(start).join(', ')}: ${link(start)}`]
  for (const step of waypoints.flatMap((fact, index) => findPath(waypoints[index - 1] ?? start, fact)))
    if (step.kind === 'fact') lines[lines.length - 1] += `, which records ${link(step.name)}`
    else if (step.kind === 'effect') lines[lines.length - 1] += `; ${renderConsequence(step)}`
    else lines.push(renderConsequence(step))
  return `### ${title}\n\n${lines.map((line, index) => `${index + 1}. ${line}`).join('\n')}`
}

function renderConsequence({ name, kind, service }: Consequence): string {
  switch (kind) {
    case 'command':
      return `\`${service}\` sends ${link(name)}`
    case 'deadline':
      return `deadline: ${link(name)}`
    case 'effect':
      return `effect ${link(name)} asks ${portsOf(name).join(' and ')}`
    case 'outcome':
      return `outcome of the effect: ${link(name)}`
  }
}

/** The ports that an effect calls. */
const portsOf = (effect: Name): readonly string[] => [
  ...new Set(
    aggregates.flatMap(({ contract, effects = {} }) =>
      Object.entries(effects)
        .filter(([name]) => `${contract.category}.${name}` === effect)
        .flatMap(([, { calls }]) => calls.map((call) => `\`${call.slice(0, call.indexOf('.'))}\``)),
    ),
  ),
]

/** The facts and effects that cause a command, the jobs that send it, and the gateway. */
function sendersOf(command: Name): readonly string[] {
  const [category = '', type = ''] = command.split('.')
  const from = contracts.find((contract) => contract.category === category)?.commands[type]?.from ?? []
  const causes = [...consequences].flatMap(([cause, all]) =>
    all.filter(({ name }) => name === command).map(({ kind, service }) => `${renderCause(kind, service)} ${link(cause)}`),
  )
  const jobs = services.flatMap(({ name, jobs: all }) =>
    all.filter(({ sends = [] }) => sends.some((sent) => sent === command)).map((job) => `job \`${job.name}\` of \`${name}\``),
  )
  return [...(from.includes('gateway') ? ['`gateway`'] : []), ...causes, ...jobs]
}

function renderCause(kind: Consequence['kind'], service: string): string {
  if (kind === 'outcome') return 'effect'
  return kind === 'deadline' ? 'deadline after' : `\`${service}\` after`
}

const renderTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const renderConsequences = (cause: Name): string => (consequences.get(cause) ?? []).map(renderConsequence).join('<br>')

function renderAggregate({ contract, effects = {} }: (typeof aggregates)[number]): string {
  const { category, records } = contract
  const nameOf = (part: string): Name => `${category}.${part}`
  const commands = Object.entries(records).map(([type, recorded]) => [
    anchor(nameOf(type)),
    sendersOf(nameOf(type)).join('<br>') || 'no sender',
    recorded.map((fact) => link(nameOf(fact), fact)).join(' '),
  ])
  const tables = [
    renderTable(['command', 'comes from', 'may record'], commands),
    renderTable(
      ['fact', 'what follows'],
      Object.keys(contract.facts).map((fact) => [anchor(nameOf(fact)), renderConsequences(nameOf(fact))]),
    ),
    ...(Object.keys(effects).length === 0
      ? []
      : [
          renderTable(
            ['effect', 'calls', 'outcome'],
            Object.entries(effects).map(([effect, { calls, outcomes }]) => [
              anchor(nameOf(effect)),
              calls.map((call) => `\`${call}\``).join(' '),
              outcomes.map((outcome) => link(nameOf(outcome), outcome)).join(' '),
            ]),
          ),
        ]),
  ]
  return `### \`${category}\` streams\n\n${renderReaders(contract)}\n\n${tables.join('\n\n')}`
}

function renderReaders(contract: Contract): string {
  const readers = [gateway, ...services].flatMap(({ name, projections, memoryViews }) =>
    [...projections, ...memoryViews]
      .filter(({ from }) => from.includes(contract))
      .map((view) => `\`${view.name}\` of \`${name}\``),
  )
  const subject = contract.correlates ? `A stream has the id of its ${contract.correlates}.` : ''
  return [subject, readers.length === 0 ? 'No read model follows these facts.' : `Read models: ${readers.join(', ')}.`]
    .join(' ')
    .trim()
}

/** Renders which services send commands to each other (solid lines), and follow each other's facts (dotted lines). */
function renderDiagram(): string {
  const commands = contracts.flatMap(({ owner, commands: shapes }) =>
    Object.values(shapes).flatMap(({ from = [] }) => from.map((sender) => `${sender} --> ${owner}`)),
  )
  const reactions = services.flatMap(({ name, reactions: all }) =>
    all.filter(({ contract }) => contract.owner !== name).map(({ contract }) => `${contract.owner} -.-> ${name}`),
  )
  return `\`\`\`mermaid\nflowchart LR\n${[...new Set([...commands, ...reactions])].map((edge) => `  ${edge}`).join('\n')}\n\`\`\``
}

/** The page of the consequences of all commands, from the declarations of the services. */
const renderPage = (): string => `# Consequences of commands and facts

Services declare the facts that a command may record, and the commands, deadlines and effects that may follow from a fact. The compiler checks the commands of reactions and the outcomes of effects. The tests of deciders and the simulation check the other declarations. Jobs of the gateway are the exception: they send the commands of callers, declare none, and are not checked. This page is made from these declarations by \`npm run generate\`.

Solid lines are commands to another service. Dotted lines are facts that another service follows.

${renderDiagram()}

## A purchase

Each part begins with a command that an action outside Penstock causes. The tables below show all other ways.

${PURCHASE.map(renderStage).join('\n\n')}

${services
  .map(
    ({ name }) =>
      `## ${name}\n\n${aggregates
        .filter(({ service }) => service === name)
        .map(renderAggregate)
        .join('\n\n')}`,
  )
  .join('\n\n')}
`

export const renderFlow = (): GeneratedFiles => new Map([['docs/flow.md', renderPage()]])
