import type { Callers } from './callers.ts'
import type { Accepted } from './facts.ts'
import { dataOf, judgeAll, leftBehind, resultsOf, textsIn } from './judge.ts'
import type { Market } from './market.ts'
import type { OpenApi } from './rest.ts'
import { type Answer, type Caller, CUT_OFF, fire, type Shot } from './shot.ts'
import type { Target } from './targets.ts'
import { shownOfOthers, shownToAll, trespass } from './trespass.ts'

export type Tried = { readonly known: number; readonly nobody: number; readonly carriedOut: number }

/** Fires shots, judges the answers, and keeps count. */
export type Gun = {
  /** @returns how many results the answer shows @throws what is wrong with it */
  readonly shoot: (target: Target, shot: Shot) => Promise<number>
  readonly accepted: Accepted
  /** Orders that were turned down by an answer which names no id. */
  readonly rejections: () => number
  readonly refusedInvoices: () => number
  /** Orders that were given up because they were not ready in time. */
  readonly withdrawn: () => number
  readonly targets: Map<string, Tried>
  readonly kinds: Map<string, number>
  /** Of answers, by the kind of interface. */
  readonly statuses: Map<string, number>
  /** Spent on each target. */
  readonly tookMs: Map<string, number>
  /** Counts from nothing again. */
  readonly clear: () => void
}

const untried: Tried = { known: 0, nobody: 0, carriedOut: 0 }
const oneMore = ({ known, nobody, carriedOut } = untried, isNobody: boolean, done: number): Tried => ({
  known: known + (isNobody ? 0 : 1),
  nobody: nobody + (isNobody ? 1 : 0),
  carriedOut: carriedOut + done,
})
const add = (counts: Map<string, number>, key: string): Map<string, number> => counts.set(key, (counts.get(key) ?? 0) + 1)

/** What settlement says of an invoice whose hash somebody has given before. */
const SEEN_BEFORE = 'This payment hash was used for another order'

/** What all doors say of an order that took too long. */
const GIVEN_UP = 'in time and is withdrawn'

export function openGun(market: Market, callers: Omit<Callers, 'bought'>, openApi: OpenApi): Gun {
  const judge = judgeAll(openApi)
  const accepted: Accepted = new Map()
  let [rejections, refusedInvoices, withdrawn] = [0, 0, 0]
  const targets = new Map<string, Tried>()
  const kinds = new Map<string, number>()
  const statuses = new Map<string, number>()
  const tookMs = new Map<string, number>()

  /** What the answer says was done may have left facts under every id that it names, and in the caller's account. */
  const note = (shot: Shot, answer: Answer, done: readonly unknown[]): void => {
    const account = callers.identityOf(shot.caller)?.account
    for (const one of done)
      for (const id of new Set([...textsIn(one), ...(account === undefined ? [] : [account])])) add(accepted, id)
    // It was asked for, and was withdrawn when it was not ready in time: two commands.
    for (const id of leftBehind(answer)) add(add(accepted, id), id)
  }

  const renew = async (caller: Caller): Promise<void> => {
    const account = callers.identityOf(caller)?.account
    const commands = await callers.renew(caller)
    if (account !== undefined) accepted.set(account, (accepted.get(account) ?? 0) + commands)
  }

  return {
    accepted,
    rejections: () => rejections,
    refusedInvoices: () => refusedInvoices,
    withdrawn: () => withdrawn,
    targets,
    kinds,
    statuses,
    tookMs,
    clear() {
      rejections = 0
      refusedInvoices = 0
      withdrawn = 0
      for (const counts of [targets, kinds, statuses, tookMs, accepted]) counts.clear()
    },
    async shoot(target, shot) {
      const since = Date.now()
      const answer = await fire(market, shot, callers.authorization(shot.caller))
      const results = shownBy(target, shot, answer)
      const done = target.operation?.kind === 'query' ? [] : results
      const trespassed = trespass(target.name, shot, results.length) ?? (await strayed(callers, target, shot, answer, since))
      if (trespassed === undefined) note(shot, answer, done)
      targets.set(target.name, oneMore(targets.get(target.name), shot.caller === 'nobody', done.length))
      for (const kind of shot.kinds) add(kinds, kind)
      tookMs.set(target.name, (tookMs.get(target.name) ?? 0) + answer.tookMs)
      if (answer === CUT_OFF) return 0
      add(statuses, `${target.operation ? 'GraphQL' : 'REST'} ${answer.status}`)
      if (answer.status === 500 && target.name.endsWith('create_order')) rejections += 1
      refusedInvoices += answer.text.split(SEEN_BEFORE).length - 1
      withdrawn += answer.text.split(GIVEN_UP).length - 1
      // A log-out or a revoked key, among what was tried, ends a credential.
      if (answer.text.includes('Unauthorized token')) await renew(shot.caller)
      const wrong = trespassed ?? judge(answer, shot)
      if (wrong !== undefined) throw new Error(`${wrong}\n  answer ${answer.status}: ${answer.text.slice(0, 500)}`)
      return results.length
    },
  }
}

/** What an answer shows: of a query what was found, of everything else what was carried out. */
function shownBy({ operation }: Target, { method }: Shot, answer: Answer): readonly unknown[] {
  if (operation) return resultsOf(answer, operation)
  const isDone = answer.status === 200 && method === 'POST' && answer.type.startsWith('application/json')
  return isDone ? [JSON.parse(answer.text)] : []
}

/** @param since when it was asked for @returns what is wrong where the answer shows what is somebody else's */
async function strayed(
  { identityOf, owners }: Pick<Callers, 'identityOf' | 'owners'>,
  { name, operation }: Target,
  shot: Shot,
  answer: Answer,
  since: number,
): Promise<string | undefined> {
  const isOperators = shot.caller === 'operator' && /^\/operator\//i.test(shot.path)
  if (!operation && (answer.status !== 200 || isOperators)) return undefined
  await owners.catchUp()
  if (!operation) return shownToAll(shot.path, answer.text, owners)
  const asked = { target: name, identity: identityOf(shot.caller), since }
  return shownOfOthers([dataOf(answer), leftBehind(answer)], asked, owners)
}
