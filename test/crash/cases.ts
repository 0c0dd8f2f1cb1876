import { listCrashPoints } from './crash-points.ts'
import type { CrashScenarioName } from './scenarios.ts'

/**
 * A crash during a scenario. `crashPoint` is `<name>`, or `<name>#<n>` for the n-th time that the market gets to the point.
 * `isFreshMarket`: no seller has joined the market.
 */
export type CrashCase = { readonly crashPoint: string; readonly scenario: CrashScenarioName; readonly isFreshMarket: boolean }

/** A sale neither cancels a hold nor uses a sandbox, so these crash points have other scenarios. */
function chooseScenario(point: string): CrashScenarioName {
  if (point.startsWith('payments.webhook.')) return 'sandbox webhooks'
  if (point.startsWith('payments.')) return 'sandbox payments'
  return point.startsWith('settlement.cancel.') ? 'nobody opens' : 'sale'
}

/** The accounts service sends commands only when sellers join, and they join only a fresh market. */
const needsFreshMarket = (point: string): boolean => point.startsWith('accounts.') && point.endsWith('-send')

/** Further cases: later visits of a crash point, which are later steps of an order, and scenarios with another final status. */
const additionalCases: readonly (readonly [string, CrashScenarioName])[] = [
  ['order.after-append#6', 'sale'],
  ['order.after-append#10', 'sale'],
  ['order.after-publish#3', 'sale'],
  ['order.after-relay-progress#3', 'sale'],
  ['order.after-reaction#3', 'sale'],
  ['order.before-send#2', 'sale'],
  ['order.after-send#2', 'sale'],
  ['order.after-send#4', 'sale'],
  ['settlement.after-append#4', 'sale'],
  ['settlement.after-append#8', 'sale'],
  ['settlement.after-publish#2', 'sale'],
  ['matching.after-append#6', 'sale'],
  ['channel-watcher.after-append#3', 'sale'],
  ['gateway.after-projection#20', 'sale'],
  ['settlement.reach.after-intent#2', 'failover'],
  ['settlement.reach.before-outcome#2', 'failover'],
  ['matching.before-send#2', 'failover'],
  ['order.after-append#7', 'failover'],
  ['settlement.cancel.after-intent', 'not paid'],
  ['settlement.cancel.before-outcome', 'withdrawn'],
  ['settlement.cancel.before-look', 'funding vanishes'],
  ['settlement.cancel.before-outcome', 'wrong size'],
  ['settlement.settle.after-intent', 're-org'],
  // Each fact of the scenario: of its wallet, the receive, the claims of both sends, and their ends.
  ...Array.from({ length: 12 }, (_, index) => [`payments.after-append#${index + 2}`, 'sandbox payments'] as const),
  ['payments.after-reaction#2', 'sandbox payments'],
  ['payments.before-send#2', 'sandbox payments'],
  ['gateway.after-projection#4', 'sandbox payments'],
  // The first attempt of an end, its repetition, and an event after those.
  ['payments.webhook.after-begin#2', 'sandbox webhooks'],
  ['payments.webhook.after-begin#3', 'sandbox webhooks'],
  ['payments.webhook.after-call#3', 'sandbox webhooks'],
  ['payments.webhook.after-call#5', 'sandbox webhooks'],
]

export function listCrashCases(): readonly CrashCase[] {
  const points = listCrashPoints()
  const unknown = additionalCases.filter(([point]) => !points.includes(point.replace(/#\d+$/, '')))
  if (unknown.length > 0) throw new Error(`unknown crash points: ${unknown.join()}`)
  return [
    ...points.map((crashPoint) => ({
      crashPoint,
      scenario: chooseScenario(crashPoint),
      isFreshMarket: needsFreshMarket(crashPoint),
    })),
    ...additionalCases.map(([point, scenario]) => ({ crashPoint: point, scenario, isFreshMarket: false })),
  ]
}
