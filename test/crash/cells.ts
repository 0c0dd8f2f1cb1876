import { allPoints } from './points.ts'
import type { StoryName } from './stories.ts'

/** A run that dies at a point, `#n` at its n-th visit, while a story is told. `fresh`: in a market that nobody has joined yet. */
export type Cell = { readonly point: string; readonly story: StoryName; readonly fresh: boolean }

/** Points that the plain sale never comes to. */
const storyOf = (point: string): StoryName => (point.startsWith('settlement.cancel.') ? 'nobody opens' : 'sale')

/** Sellers join once: the accounts' own questions are asked only then. */
const isFresh = (point: string): boolean => point.startsWith('accounts.') && point.endsWith('-send')

/** Visits that mean something else than the first one: later steps of an order, and other ways for it to end. */
const more: readonly (readonly [string, StoryName])[] = [
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
]

export function cells(): readonly Cell[] {
  const points = allPoints()
  const unknown = more.filter(([point]) => !points.includes(point.replace(/#\d+$/, '')))
  if (unknown.length > 0) throw new Error(`there is no crash point ${unknown.join()}`)
  return [
    ...points.map((point) => ({ point, story: storyOf(point), fresh: isFresh(point) })),
    ...more.map(([point, story]) => ({ point, story, fresh: false })),
  ]
}
