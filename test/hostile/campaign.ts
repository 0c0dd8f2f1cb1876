import type { AuditReport } from '@penstock/runtime/audit.ts'
import fc from 'fast-check'
import type { BodyField } from './bodies.ts'
import { openCallers } from './callers.ts'
import { fireCut } from './cut-shots.ts'
import { type Dripped, fireDripped } from './dripped.ts'
import { endOf, type Position, unexplained } from './facts.ts'
import { type Gun, openGun, type Tried } from './gun.ts'
import type { Pool } from './inputs.ts'
import { keptFaults, movedIn, worldOf } from './keeping.ts'
import type { Market } from './market.ts'
import { grown, type Memory, watchMemory } from './memory.ts'
import { poolOf } from './pool.ts'
import { watchPromptness } from './prompt.ts'
import { type Fields, readOpenApi, restTargets } from './rest.ts'
import { type RightShots, rightShotsOf } from './right.ts'
import { operationsOf, readSchema } from './schema.ts'
import { type Caller, closeConnections, type Shot } from './shot.ts'
import { openSlow, type Slowly } from './slow.ts'
import { graphqlTarget, type Target } from './targets.ts'
import { openUnread } from './unread.ts'

export type Options = {
  readonly runs: number
  readonly seed: number
  /** Told each fault as it is found. */
  readonly found?: (fault: string) => void
}

export type Outcome = {
  readonly faults: readonly string[]
  /** Names of everything that there is to hit. */
  readonly wanted: readonly string[]
  readonly targets: ReadonlyMap<string, Tried>
  /** Names of those to which requests without the end of their bodies were sent. */
  readonly cut: ReadonlySet<string>
  /** Of those to which requests were sent that never came to the end of their bodies, by so many callers with other slow ones. */
  readonly slow: ReadonlySet<string>
  readonly slowCallers: number
  /** Of those whose answers nobody read. */
  readonly unread: ReadonlySet<string>
  /** Of those to which right bodies were sent in pieces. */
  readonly dripped: Dripped['answered']
  readonly kinds: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  readonly tookMs: ReadonlyMap<string, number>
  readonly shots: number
  readonly seconds: number
  /** Of a good request meanwhile. */
  readonly slowestMs: number
  readonly newFacts: number
  readonly memory: Memory
  /** Keys of sellers who go on working whatever is tried. */
  readonly agents: readonly string[]
}

const LANES = 8
/** An operation has more sides to be tried than an address. */
const SHARE_OF_OPERATION = 3
/** And one credential less than several; but what an operator sends has to be right in all its fields to be carried out. */
const SHARE_OF_OPERATOR = 0.4
const SHARE_OF_DEED = 1.5
/** Read models are a moment behind the facts. */
const CAUGHT_UP_WITHIN_MS = 10_000
/** Longer than anybody may take for headers, and less than for all of a request. */
const DRIP_MS = 12_000
const DEEDS_DRIP_MS = 2000
const READ_WITHIN_MS = 2000
const SENT_AWAY_WITHIN_MS = 60_000
/** What a body may have; what it must have is told by a refusal. */
const OPTIONAL: readonly BodyField[] = Object.entries({
  from: 'String',
  private: 'Boolean',
  expirySeconds: 'Int',
  note: 'String',
  all: 'Boolean',
  group: 'String',
  topic: 'String',
  key: 'String',
  projections: 'String',
}).map(([name, scalar]) => ({ name, scalar, isLearned: true, isSeldom: true }))

/** Shoots at everything that the market offers, and looks afterwards what that did to it. */
export async function campaign(market: Market, { runs, seed, found = () => undefined }: Options): Promise<Outcome> {
  const callers = await openCallers(market)
  const { pool, agents } = await poolOf(market, callers)
  const gun = openGun(market, callers, readOpenApi())
  const targets = await targetsIn(market, pool)
  const { strangers, operators } = jobsOf(targets)
  const jobs = [...strangers, ...operators]
  const { dataDir } = market.product
  const right = rightShotsOf(targets, seed + 4)
  // What is loaded and compiled at first use counts as there from the beginning.
  const unpaid = worldOf(dataDir)
  await run(gun, strangers, 1, seed + 1, () => undefined)
  closeConnections()
  const before = await endOf(dataDir)
  const memoryWatch = await watchMemory(() => market.inside())
  gun.clear()

  const began = performance.now()
  const watch = watchPromptness(market)
  const each = runs / jobs.reduce((sum, job) => sum + shareOf(job), 0)
  const beside = besideAll(market, gun, { callers, right })
  const faults = await run(gun, strangers, each, seed, found)
  const cut = await fireCut(market, callers, targets, seed + 3)
  const slowly = await beside.ended()
  const moved = movedIn(unpaid, worldOf(dataDir))
  // Only now, since an operator plays the whole network: he pays, opens channels and makes blocks.
  const drippedDeeds = fireDripped(gun, only(right, isOperators), DEEDS_DRIP_MS)
  const byOperators = await run(gun, operators, each, seed + 2, found)
  const dripped = both(slowly.dripped, await drippedDeeds)
  const seconds = (performance.now() - began) / 1000
  const { slowestMs, misses } = await watch.stop()
  closeConnections()

  const memory = await memoryWatch.stop()
  const after = await endOf(dataDir)
  const aftermath = [...cut.faults, ...slowly.faults, ...dripped.faults, ...misses, ...moved]
  aftermath.push(...(await leftBy(market, gun, before.position, agents)), ...grown(memory))
  await callers.owners.close()
  const wanted = targets.map(({ name }) => name)
  aftermath.push(...wanted.flatMap((name) => missed(name, gun.targets.get(name))))
  for (const fault of aftermath) found(fault)
  return {
    ...gun,
    ...slowly,
    memory,
    faults: [...faults, ...byOperators, ...aftermath],
    wanted,
    cut: cut.tried,
    dripped: dripped.answered,
    shots: [...gun.targets.values()].reduce((sum, { known, nobody }) => sum + known + nobody, 0),
    seconds,
    slowestMs,
    newFacts: after.count - before.count,
    agents,
  }
}

/** What only takes long goes on beside everything else. */
function besideAll(market: Market, gun: Gun, slowly: Slowly) {
  const slow = openSlow(market, slowly)
  const unread = openUnread(market, slowly)
  const others = only(slowly.right, (target) => !isOperators(target))
  const dripping = fireDripped(gun, others, DRIP_MS)
  return {
    async ended() {
      const dripped = await dripping
      const faults = [...(await unread.read(READ_WITHIN_MS)), ...(await slow.ended(SENT_AWAY_WITHIN_MS))]
      return { faults, dripped, slow: slow.tried, slowCallers: slow.count, unread: unread.tried }
    },
  }
}

const only = (right: RightShots, isWanted: (target: Target) => boolean): RightShots =>
  new Map([...right].filter(([target]) => isWanted(target)))

const both = (one: Dripped, other: Dripped): Dripped => ({
  faults: [...one.faults, ...other.faults],
  answered: new Map([...one.answered, ...other.answered]),
})

/** Everything that nothing of what was answered explains. */
const leftBy = async (market: Market, gun: Gun, from: Position, agents: readonly string[]): Promise<readonly string[]> => {
  const { dataDir } = market.product
  const [rejections, refusedInvoices] = [gun.rejections(), gun.refusedInvoices()]
  return [
    ...(await unexplained(dataDir, from, gun.accepted, { agents, rejections, refusedInvoices })),
    ...(await keptFaults(dataDir, CAUGHT_UP_WITHIN_MS, gun.withdrawn())),
    ...(await wounds(market)),
  ]
}

async function targetsIn(market: Market, pool: Pool): Promise<readonly Target[]> {
  const { routes } = await market.inside()
  const paths = routes.map(({ path }) => path)
  return [
    ...operationsOf(readSchema()).map((operation) => graphqlTarget(operation, pool)),
    ...restTargets(routes, pool, await fieldsOf(market, paths)),
  ]
}

const missed = (name: string, tried: Tried | undefined): readonly string[] =>
  tried && tried.known > 0 && tried.nobody > 0 ? [] : [`${name} was not tried both with a credential and without`]

type Job = { readonly target: Target; readonly callers: readonly Caller[] }

const isOperators = ({ name }: Target): boolean => name.includes(' /operator')

/** What an operator does, where the others only look. */
const isDeed = ({ name }: Target): boolean => name.startsWith('POST /operator')

/** Each target with credentials and without; the operator's own, where it opens something, by themselves. */
const jobsOf = (targets: readonly Target[]): { readonly strangers: readonly Job[]; readonly operators: readonly Job[] } => ({
  strangers: targets.flatMap((target) => {
    const others = target.callers.filter((caller) => caller !== 'operator' || !isOperators(target))
    return [others, ['nobody'] as const].map((callers) => ({ target, callers }))
  }),
  operators: targets.filter(isOperators).map((target) => ({ target, callers: ['operator'] as const })),
})

const shareOf = ({ target, callers }: Job): number =>
  target.operation ? SHARE_OF_OPERATION : callers[0] !== 'operator' ? 1 : isDeed(target) ? SHARE_OF_DEED : SHARE_OF_OPERATOR

/** So many lanes side by side; each target's runs stay together, so that a fault is made small by itself. */
async function run(
  gun: Gun,
  jobs: readonly Job[],
  each: number,
  seed: number,
  found: (fault: string) => void,
): Promise<readonly string[]> {
  // Numbers of their own for each, or all would make the same choices.
  const left = jobs.map((job, at) => ({ job, own: (seed + Math.imul(at + 1, 0x9e3779b1)) | 0 }))
  const faults: string[] = []
  const lane = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { job, own } = next
      const fault = await attack(gun, job, Math.ceil(each * shareOf(job)), own)
      if (fault === undefined) continue
      faults.push(fault)
      found(fault)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return faults
}

async function attack(gun: Gun, { target, callers }: Job, numRuns: number, seed: number): Promise<string | undefined> {
  const shots = fc.constantFrom(...callers).chain(target.shots)
  const property = fc.asyncProperty(shots, async (shot) => void (await gun.shoot(target, shot)))
  const details = await fc.check(property, { numRuns, seed, interruptAfterTimeLimit: 600_000 })
  if (!details.failed) return undefined
  const [shot] = details.counterexample ?? []
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance)
  return `${target.name}, seed ${seed}: ${reason}\n  ${shown(shot)}`
}

const shown = (shot: Shot | undefined): string =>
  shot
    ? `${shot.caller}: ${shot.method} ${shot.path.slice(0, 300)} ${JSON.stringify(shot.headers).slice(0, 300)}\n  ${String(shot.body).slice(0, 1500)}`
    : 'nothing was shot'

/** Learned from how an empty body is refused, so that a new route needs no change here. */
async function fieldsOf({ product, operatorToken }: Market, paths: readonly string[]): Promise<Fields> {
  const found = await Promise.all(
    paths
      .filter((path) => path.startsWith('/operator'))
      .map(async (path) => {
        const response = await fetch(product.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
          body: '{}',
        })
        return [path, [...neededIn(await response.text()), ...OPTIONAL]] as const
      }),
  )
  return new Map(found)
}

const SCALAR_OF: Readonly<Record<string, string>> = { number: 'Int', int: 'Int', boolean: 'Boolean' }

/** Each field that a refusal names, with what it expects. */
const neededIn = (refusal: string): readonly BodyField[] =>
  [...refusal.matchAll(/(?:malformed: |; )(\w+):(?: Invalid input: expected (\w+))?/g)].map(([, name = '', expected = '']) => ({
    name,
    scalar: SCALAR_OF[expected] ?? 'String',
    isLearned: true,
  }))

/** What the process says of itself in the end. */
async function wounds({ product }: Market): Promise<readonly string[]> {
  const lines = product.output().split('\n')
  const errors = lines
    .filter((line) => /"level":(?:50|60)|Unhandled|uncaught|Error:/i.test(line))
    .map((line) => `the log: ${line.slice(0, 1000)}`)
  const parked = await product.operator<readonly unknown[]>('GET', '/parked')
  const audit = await product.operator<AuditReport>('POST', '/audit/verify', {})
  const isSound = audit.divergences === 0 && audit.ledger_balanced && audit.first === null && audit.events > 0
  return [
    ...errors,
    ...parked.map((one) => `parked: ${JSON.stringify(one)}`),
    ...(isSound ? [] : [`the audit: ${JSON.stringify(audit).slice(0, 1000)}`]),
  ]
}
