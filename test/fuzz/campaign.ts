import type { AuditReport } from '@penstock/audit/verify.ts'
import fc from 'fast-check'
import type { BodyField } from './generators/bodies.ts'
import { createCallers } from './callers.ts'
import { sendTruncated } from './truncated-requests.ts'
import { type SlowBodyResult, sendSlowBodies } from './slow-body.ts'
import { readLogEnd, type LogPosition, findUnexplainedFacts } from './checks/unexplained-facts.ts'
import { type RequestRunner, createRunner, type TargetCounts } from './runner.ts'
import type { ValuePool } from './generators/inputs.ts'
import { checkStoredState, diffNetwork, snapshotNetwork } from './checks/state-snapshot.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import { checkMemory, type MemoryUse, watchMemory } from './checks/memory.ts'
import { createValuePool } from './generators/value-pool.ts'
import { watchLatency } from './checks/latency.ts'
import { type FieldsByPath, readOpenApi, createRestTargets } from './generators/rest-targets.ts'
import { type ValidRequests, sampleValidRequests } from './generators/valid-requests.ts'
import { listOperations, readSchema } from './generators/schema.ts'
import { type FuzzCaller, closeConnections, type FuzzRequest } from './request.ts'
import { startSlowCallers, type SlowOptions } from './slow-callers.ts'
import { createGraphqlTarget, type FuzzTarget } from './generators/targets.ts'
import { startSlowReaders } from './slow-reader.ts'

export type FuzzOptions = {
  readonly runs: number
  readonly seed: number
  /** Is called for each violation immediately. */
  readonly onViolation?: (violation: string) => void
}

export type FuzzOutcome = {
  readonly violations: readonly string[]
  /** Names of all targets. */
  readonly targetNames: readonly string[]
  readonly targets: ReadonlyMap<string, TargetCounts>
  /** Targets that got truncated requests. */
  readonly truncatedTargets: ReadonlySet<string>
  /** Targets that got requests with endless bodies. `slowCallers` counts the senders of these and all other slow callers. */
  readonly slowTargets: ReadonlySet<string>
  readonly slowCallers: number
  /** Targets whose answers were never read. */
  readonly unreadTargets: ReadonlySet<string>
  /** Answers to valid bodies that were sent in pieces. */
  readonly slowBodies: SlowBodyResult['answered']
  readonly kinds: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  readonly tookMs: ReadonlyMap<string, number>
  readonly requestCount: number
  readonly seconds: number
  /** Duration of the slowest answer to a good request during the campaign. */
  readonly slowestMs: number
  readonly newFacts: number
  readonly memory: MemoryUse
  /** Keys of the sellers' agents, which keep working during the campaign. */
  readonly agentPubkeys: readonly string[]
}

const WORKERS = 8
/** Multiplies the number of requests to a GraphQL operation, because an operation has more inputs than a route. */
const SHARE_OF_OPERATION = 3
/**
 * Multiply the number of operator requests, which have one credential instead of several. Actions get more requests than reads,
 * because an action is carried out only if all its fields are valid.
 */
const SHARE_OF_OPERATOR = 0.4
const SHARE_OF_OPERATOR_ACTION = 1.5
/** Maximum time by which read models may be behind the facts. */
const CATCH_UP_TIMEOUT_MS = 10_000
/** Longer than the server's time limit for headers, and shorter than its limit for a whole request. */
const SLOW_BODY_MS = 12_000
const OPERATOR_SLOW_BODY_MS = 2000
const READ_TIMEOUT_MS = 2000
const CLOSE_TIMEOUT_MS = 60_000
/** Optional body fields. Required fields are learned from a refusal. */
const OPTIONAL_FIELDS: readonly BodyField[] = Object.entries({
  from: 'String',
  private: 'Boolean',
  expirySeconds: 'Int',
  note: 'String',
  all: 'Boolean',
  group: 'String',
  topic: 'String',
  key: 'String',
  projections: 'String',
}).map(([name, scalar]) => ({ name, scalar, isLearned: true, isRare: true }))

/** Sends requests to every operation and route of the market, and then checks their effects. */
export async function runFuzzCampaign(
  market: FuzzMarket,
  { runs, seed, onViolation = () => undefined }: FuzzOptions,
): Promise<FuzzOutcome> {
  const callers = await createCallers(market)
  const { values, agentPubkeys } = await createValuePool(market, callers)
  const runner = createRunner(market, callers, readOpenApi())
  const targets = await listTargets(market, values)
  const { strangers, operators } = planJobs(targets)
  const jobs = [...strangers, ...operators]
  const { dataDir } = market.product
  const validRequests = sampleValidRequests(targets, seed + 4)
  // This pass loads and compiles code. Memory is measured only afterwards, so the compiled code does not count as growth.
  const networkBefore = snapshotNetwork(dataDir)
  await runJobs(runner, strangers, 1, seed + 1, () => undefined)
  closeConnections()
  const before = await readLogEnd(dataDir)
  const memoryWatch = await watchMemory(() => market.readProcess())
  runner.reset()

  const startedAt = performance.now()
  const latencyWatch = watchLatency(market)
  const runsPerShare = runs / jobs.reduce((sum, job) => sum + getShare(job), 0)
  const slowClients = startSlowClients(market, runner, { callers, validRequests })
  const violations = await runJobs(runner, strangers, runsPerShare, seed, onViolation)
  const truncated = await sendTruncated(market, callers, targets, seed + 3)
  const slowResults = await slowClients.ended()
  const networkChanges = diffNetwork(networkBefore, snapshotNetwork(dataDir))
  // Operator requests run last, because they control the whole network: they pay, open channels and mine blocks.
  const operatorSlowBodies = sendSlowBodies(runner, filterTargets(validRequests, isOperatorTarget), OPERATOR_SLOW_BODY_MS)
  const operatorViolations = await runJobs(runner, operators, runsPerShare, seed + 2, onViolation)
  const slowBodies = mergeSlowBodies(slowResults.slowBodies, await operatorSlowBodies)
  const seconds = (performance.now() - startedAt) / 1000
  const { slowestMs, violations: latencyViolations } = await latencyWatch.stop()
  closeConnections()

  const memory = await memoryWatch.stop()
  const after = await readLogEnd(dataDir)
  const aftermath = [truncated, slowResults, slowBodies].flatMap((results) => results.violations)
  aftermath.push(...latencyViolations, ...networkChanges)
  aftermath.push(...(await findAfterEffects(market, runner, before.position, agentPubkeys)), ...checkMemory(memory))
  await callers.owners.close()
  const targetNames = targets.map(({ name }) => name)
  aftermath.push(...targetNames.flatMap((name) => checkWasTried(name, runner.targets.get(name))))
  for (const violation of aftermath) onViolation(violation)
  return {
    ...runner,
    ...slowResults,
    memory,
    violations: [...violations, ...operatorViolations, ...aftermath],
    targetNames,
    truncatedTargets: truncated.triedTargets,
    slowBodies: slowBodies.answered,
    requestCount: [...runner.targets.values()].reduce(
      (sum, { withCredential, withoutCredential }) => sum + withCredential + withoutCredential,
      0,
    ),
    seconds,
    slowestMs,
    newFacts: after.count - before.count,
    agentPubkeys,
  }
}

/** Starts slow callers, slow readers and slow bodies, which run concurrently with all other requests. */
function startSlowClients(market: FuzzMarket, runner: RequestRunner, options: SlowOptions) {
  const slowCallers = startSlowCallers(market, options)
  const slowReaders = startSlowReaders(market, options)
  const publicRequests = filterTargets(options.validRequests, (target) => !isOperatorTarget(target))
  const sendingSlowBodies = sendSlowBodies(runner, publicRequests, SLOW_BODY_MS)
  return {
    async ended() {
      const slowBodies = await sendingSlowBodies
      const violations = [...(await slowReaders.read(READ_TIMEOUT_MS)), ...(await slowCallers.waitUntilClosed(CLOSE_TIMEOUT_MS))]
      return {
        violations,
        slowBodies,
        slowTargets: slowCallers.triedTargets,
        slowCallers: slowCallers.count,
        unreadTargets: slowReaders.triedTargets,
      }
    },
  }
}

const filterTargets = (validRequests: ValidRequests, isIncluded: (target: FuzzTarget) => boolean): ValidRequests =>
  new Map([...validRequests].filter(([target]) => isIncluded(target)))

const mergeSlowBodies = (first: SlowBodyResult, second: SlowBodyResult): SlowBodyResult => ({
  violations: [...first.violations, ...second.violations],
  answered: new Map([...first.answered, ...second.answered]),
})

/** Finds facts and changed rows that no answer explains. */
const findAfterEffects = async (
  market: FuzzMarket,
  runner: RequestRunner,
  from: LogPosition,
  agentPubkeys: readonly string[],
): Promise<readonly string[]> => {
  const { dataDir } = market.product
  const [rejections, refusedInvoices] = [runner.countRejections(), runner.countRefusedInvoices()]
  return [
    ...(await findUnexplainedFacts(dataDir, from, runner.accepted, { agentPubkeys, rejections, refusedInvoices })),
    ...(await checkStoredState(dataDir, CATCH_UP_TIMEOUT_MS, runner.countWithdrawn())),
    ...(await checkProcess(market)),
  ]
}

async function listTargets(market: FuzzMarket, values: ValuePool): Promise<readonly FuzzTarget[]> {
  const { routes } = await market.readProcess()
  const paths = routes.map(({ path }) => path)
  return [
    ...listOperations(readSchema()).map((operation) => createGraphqlTarget(operation, values)),
    ...createRestTargets(routes, values, await learnFields(market, paths)),
  ]
}

const checkWasTried = (name: string, counts: TargetCounts | undefined): readonly string[] =>
  counts && counts.withCredential > 0 && counts.withoutCredential > 0
    ? []
    : [`${name} was not tried both with and without a credential`]

type Job = { readonly target: FuzzTarget; readonly callers: readonly FuzzCaller[] }

const isOperatorTarget = ({ name }: FuzzTarget): boolean => name.includes(' /operator')

/** Whether an operator request can change something. All other operator requests only read. */
const isOperatorAction = ({ name }: FuzzTarget): boolean => name.startsWith('POST /operator')

/** Plans each target with and without credentials. Operator targets with the operator's credential form a separate list. */
const planJobs = (
  targets: readonly FuzzTarget[],
): { readonly strangers: readonly Job[]; readonly operators: readonly Job[] } => ({
  strangers: targets.flatMap((target) => {
    const credentialCallers = target.callers.filter((caller) => caller !== 'operator' || !isOperatorTarget(target))
    return [credentialCallers, ['nobody'] as const].map((callers) => ({ target, callers }))
  }),
  operators: targets.filter(isOperatorTarget).map((target) => ({ target, callers: ['operator'] as const })),
})

const getShare = ({ target, callers }: Job): number =>
  target.operation
    ? SHARE_OF_OPERATION
    : callers[0] !== 'operator'
      ? 1
      : isOperatorAction(target)
        ? SHARE_OF_OPERATOR_ACTION
        : SHARE_OF_OPERATOR

/** Runs jobs on parallel workers. The runs of one target stay together, so that each violation is shrunk separately. */
async function runJobs(
  runner: RequestRunner,
  jobs: readonly Job[],
  runsPerShare: number,
  seed: number,
  onViolation: (violation: string) => void,
): Promise<readonly string[]> {
  // Each job has its own seed. Otherwise all jobs would make the same choices.
  const remaining = jobs.map((job, at) => ({ job, own: (seed + Math.imul(at + 1, 0x9e3779b1)) | 0 }))
  const violations: string[] = []
  const work = async (): Promise<void> => {
    for (let next = remaining.pop(); next; next = remaining.pop()) {
      const { job, own: jobSeed } = next
      const violation = await fuzzTarget(runner, job, Math.ceil(runsPerShare * getShare(job)), jobSeed)
      if (violation === undefined) continue
      violations.push(violation)
      onViolation(violation)
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  return violations
}

async function fuzzTarget(
  runner: RequestRunner,
  { target, callers }: Job,
  numRuns: number,
  seed: number,
): Promise<string | undefined> {
  const requests = fc.constantFrom(...callers).chain(target.generateRequests)
  const property = fc.asyncProperty(requests, async (request) => void (await runner.run(target, request)))
  const details = await fc.check(property, { numRuns, seed, interruptAfterTimeLimit: 600_000 })
  if (!details.failed) return undefined
  const [request] = details.counterexample ?? []
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance)
  return `${target.name}, seed ${seed}: ${reason}\n  ${formatRequest(request)}`
}

const formatRequest = (request: FuzzRequest | undefined): string =>
  request
    ? `${request.caller}: ${request.method} ${request.path.slice(0, 300)} ${JSON.stringify(request.headers).slice(0, 300)}\n  ${String(request.body).slice(0, 1500)}`
    : 'no request was generated'

/** Learns body fields from the refusals of an empty body, so that a new route needs no change here. */
async function learnFields({ product, operatorToken }: FuzzMarket, paths: readonly string[]): Promise<FieldsByPath> {
  const fieldsByPath = await Promise.all(
    paths
      .filter((path) => path.startsWith('/operator'))
      .map(async (path) => {
        const response = await fetch(product.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
          body: '{}',
        })
        return [path, [...parseNeededFields(await response.text()), ...OPTIONAL_FIELDS]] as const
      }),
  )
  return new Map(fieldsByPath)
}

const SCALAR_OF: Readonly<Record<string, string>> = { number: 'Int', int: 'Int', boolean: 'Boolean' }

/** Lists the fields in a refusal, with their expected types. */
const parseNeededFields = (refusal: string): readonly BodyField[] =>
  [...refusal.matchAll(/(?:malformed: |; )(\w+):(?: Invalid input: expected (\w+))?/g)].map(([, name = '', expected = '']) => ({
    name,
    scalar: SCALAR_OF[expected] ?? 'String',
    isLearned: true,
  }))

/** Checks the log of the process, its parked messages and its audit. @returns a sentence for each problem */
async function checkProcess({ product }: FuzzMarket): Promise<readonly string[]> {
  const lines = product.output().split('\n')
  const errors = lines
    .filter((line) => /"level":(?:50|60)|Unhandled|uncaught|Error:/i.test(line))
    .map((line) => `the log: ${line.slice(0, 1000)}`)
  const parked = await product.operator<readonly unknown[]>('GET', '/parked')
  const audit = await product.operator<AuditReport>('POST', '/audit/verify', {})
  const isSound = audit.divergences === 0 && audit.ledger_balanced && audit.first === null && audit.events > 0
  return [
    ...errors,
    ...parked.map((first) => `parked: ${JSON.stringify(first)}`),
    ...(isSound ? [] : [`the audit: ${JSON.stringify(audit).slice(0, 1000)}`]),
  ]
}
