import type { FuzzCallers } from './callers.ts'
import type { AcceptedCounts } from './checks/unexplained-facts.ts'
import { readData, createResponseCheck, listWithdrawnOrderIds, listResults, collectTexts } from './checks/response-checks.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import type { OpenApi } from './generators/rest-targets.ts'
import { type FuzzResponse, type FuzzCaller, NO_RESPONSE, sendRequest, type FuzzRequest } from './request.ts'
import type { FuzzTarget } from './generators/targets.ts'
import { checkForeignData, checkPublicData, checkPermission } from './checks/authorization.ts'

export type TargetCounts = { readonly withCredential: number; readonly withoutCredential: number; readonly carriedOut: number }

/** Sends requests, checks their answers, and counts them. */
export type RequestRunner = {
  /** @returns the number of results in the answer @throws Error with a violation */
  readonly run: (target: FuzzTarget, request: FuzzRequest) => Promise<number>
  readonly accepted: AcceptedCounts
  /** Number of placed orders that an answer without an id refused. */
  readonly countRejections: () => number
  readonly countRefusedInvoices: () => number
  /** Number of orders that were withdrawn because they were not ready in time. */
  readonly countWithdrawn: () => number
  readonly targets: Map<string, TargetCounts>
  readonly kinds: Map<string, number>
  /** Numbers of answers, by the kind of API and the status. */
  readonly statuses: Map<string, number>
  /** Milliseconds spent on each target. */
  readonly tookMs: Map<string, number>
  /** Sets all counts to zero. */
  readonly reset: () => void
}

const noCounts: TargetCounts = { withCredential: 0, withoutCredential: 0, carriedOut: 0 }
const countRequest = (
  { withCredential, withoutCredential, carriedOut } = noCounts,
  isWithoutCredential: boolean,
  carriedOutResults: number,
): TargetCounts => ({
  withCredential: withCredential + (isWithoutCredential ? 0 : 1),
  withoutCredential: withoutCredential + (isWithoutCredential ? 1 : 0),
  carriedOut: carriedOut + carriedOutResults,
})
const increment = (counts: Map<string, number>, key: string): Map<string, number> => counts.set(key, (counts.get(key) ?? 0) + 1)

/** The message for a payout invoice whose payment hash settlement already knows. */
const USED_HASH_MESSAGE = 'This payment hash was used for another order'

/** Part of the message of every API for an order that was not ready in time. */
const WITHDRAWN_MESSAGE = 'in time and is withdrawn'

export function createRunner(market: FuzzMarket, callers: Omit<FuzzCallers, 'boughtOrders'>, openApi: OpenApi): RequestRunner {
  const checkResponse = createResponseCheck(openApi)
  const accepted: AcceptedCounts = new Map()
  let [rejections, refusedInvoices, withdrawn] = [0, 0, 0]
  const targets = new Map<string, TargetCounts>()
  const kinds = new Map<string, number>()
  const statuses = new Map<string, number>()
  const tookMs = new Map<string, number>()

  /** Counts a carried-out result for every id that it contains and for the caller's account: each may have new facts. */
  const recordAccepted = (request: FuzzRequest, response: FuzzResponse, carriedOutResults: readonly unknown[]): void => {
    const account = callers.identityOf(request.caller)?.account
    for (const result of carriedOutResults)
      for (const id of new Set([...collectTexts(result), ...(account === undefined ? [] : [account])])) increment(accepted, id)
    // Two commands explain the facts of such an order: its request, and its withdrawal because it was not ready in time.
    for (const id of listWithdrawnOrderIds(response)) increment(increment(accepted, id), id)
  }

  const renewCredential = async (caller: FuzzCaller): Promise<void> => {
    const account = callers.identityOf(caller)?.account
    const commands = await callers.renewCredential(caller)
    if (account !== undefined) accepted.set(account, (accepted.get(account) ?? 0) + commands)
  }

  return {
    accepted,
    countRejections: () => rejections,
    countRefusedInvoices: () => refusedInvoices,
    countWithdrawn: () => withdrawn,
    targets,
    kinds,
    statuses,
    tookMs,
    reset() {
      rejections = 0
      refusedInvoices = 0
      withdrawn = 0
      for (const counts of [targets, kinds, statuses, tookMs, accepted]) counts.clear()
    },
    async run(target, request) {
      const requestedAt = Date.now()
      const response = await sendRequest(market, request, callers.authorization(request.caller))
      const results = listShownResults(target, request, response)
      const carriedOutResults = target.operation?.kind === 'query' ? [] : results
      const authorizationViolation =
        checkPermission(target.name, request, results.length) ??
        (await checkForeignAnswer(callers, target, request, response, requestedAt))
      if (authorizationViolation === undefined) recordAccepted(request, response, carriedOutResults)
      targets.set(target.name, countRequest(targets.get(target.name), request.caller === 'nobody', carriedOutResults.length))
      for (const kind of request.kinds) increment(kinds, kind)
      tookMs.set(target.name, (tookMs.get(target.name) ?? 0) + response.tookMs)
      if (response === NO_RESPONSE) return 0
      increment(statuses, `${target.operation ? 'GraphQL' : 'REST'} ${response.status}`)
      if (response.status === 500 && target.name.endsWith('create_order')) rejections += 1
      refusedInvoices += response.text.split(USED_HASH_MESSAGE).length - 1
      withdrawn += response.text.split(WITHDRAWN_MESSAGE).length - 1
      // An earlier request may have ended the credential, by a log-out or by revoking a key.
      if (response.text.includes('Unauthorized token')) await renewCredential(request.caller)
      const violation = authorizationViolation ?? checkResponse(response, request)
      if (violation !== undefined) throw new Error(`${violation}\n  answer ${response.status}: ${response.text.slice(0, 500)}`)
      return results.length
    },
  }
}

/** Lists the results in an answer: the data of a query, or the carried-out results of any other request. */
function listShownResults({ operation }: FuzzTarget, { method }: FuzzRequest, response: FuzzResponse): readonly unknown[] {
  if (operation) return listResults(response, operation)
  const isDone = response.status === 200 && method === 'POST' && response.type.startsWith('application/json')
  return isDone ? [JSON.parse(response.text)] : []
}

/** Checks that an answer shows nothing of other accounts. @param requestedAt time of the request @returns a violation */
async function checkForeignAnswer(
  { identityOf, owners }: Pick<FuzzCallers, 'identityOf' | 'owners'>,
  { name, operation }: FuzzTarget,
  request: FuzzRequest,
  response: FuzzResponse,
  requestedAt: number,
): Promise<string | undefined> {
  const isOperators = request.caller === 'operator' && /^\/operator\//i.test(request.path)
  if (!operation && (response.status !== 200 || isOperators)) return undefined
  await owners.catchUp()
  if (!operation) return checkPublicData(request.path, response.text, owners)
  const context = { target: name, identity: identityOf(request.caller), requestedAt }
  return checkForeignData([readData(response), listWithdrawnOrderIds(response)], context, owners)
}
