import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Span } from '../faults/awake.ts'
import { openFold } from '../faults/fold.ts'
import { lookAtAll, marketMsat } from '../faults/look.ts'
import { blocksIn, heightIn } from '../faults/truth.ts'
import { buy } from '../harness/buyer.ts'
import { scratch, spawnProduct, startProduct } from '../harness/product.ts'
import { type Cell, cells } from './cells.ts'
import { leftToTheNode } from './given-back.ts'
import { type Reached, stories, type StoryName } from './stories.ts'

const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.15',
  PENSTOCK_OPEN_WINDOW_SECONDS: '2',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '10',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '12',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
}
const PAYABLE = { ...env, PENSTOCK_INVOICE_EXPIRY_SECONDS: '3600' }
/** Where nobody is meant to be late, nobody's time is up on a slow machine. */
const PATIENT = {
  ...PAYABLE,
  PENSTOCK_OPEN_WINDOW_SECONDS: '20',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '60',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '60',
}
const LATE: readonly StoryName[] = ['failover', 'nobody opens', 'funding vanishes']
const VISIT_WITHIN_MS = 60_000

const warm = scratch()
let beforeMsat = 0n
const results = new Map<Cell, string>()

// Sellers join once, and every cell begins from a copy.
beforeAll(async () => {
  const product = await startProduct(warm, PAYABLE)
  beforeMsat = await marketMsat(product)
  await buy(product)
  assert.equal(await product.stop(), 0)
})
afterAll(() => {
  console.log(table())
})

describe.concurrent('killed at every crash point of every service', () => {
  test.each(cells())('$point while "$story"', { timeout: 360_000 }, async (cell) => {
    const begun = performance.now()
    results.set(cell, 'FAILED')
    const settings = cell.story === 'not paid' ? env : LATE.includes(cell.story) ? PAYABLE : PATIENT
    const death = await firstDeath(cell, settings)
    if (!death) results.set(cell, 'NEVER VISITED')
    assert.ok(death, `the point ${cell.point} was never visited`)

    const { dataDir, lived, reached } = death
    const product = await startProduct(dataDir, settings)
    const back = heightIn(dataDir)
    const awake = (height: number): readonly Span[] => [...lived, { from: back, to: height }]
    const fold = openFold(dataDir)
    try {
      await stories[cell.story](product, reached)
      const { books, faults } = await lookAtAll(product, fold, beforeMsat, { awake })
      expect([...faults, ...leftToTheNode(books, blocksIn(dataDir), awake(heightIn(dataDir)))]).toEqual([])
    } finally {
      await fold.close()
      await product.kill()
    }
    results.set(cell, `${((performance.now() - begun) / 1000).toFixed(1)} s`)
  })
})

/** `lived`: the blocks in which the process was up. */
type Death = { readonly visited: boolean; readonly lived: readonly Span[] }

/** In some stories the node may be quicker than the market: an invoice that runs out ends by itself too. */
const MOST_TELLINGS = 3

/** Tells the story, each time from its beginning, until the process dies at the point. @returns undefined where it never does */
async function firstDeath(cell: Cell, settings: Readonly<Record<string, string>>) {
  for (let telling = 0; telling < MOST_TELLINGS; telling++) {
    const [dataDir, reached]: [string, Reached] = [scratch(), {}]
    if (!cell.fresh) cpSync(warm, dataDir, { recursive: true })
    const { visited, lived } = await diesAt(cell, dataDir, settings, reached)
    if (visited) return { dataDir, reached, lived }
  }
  return undefined
}

/** Tells the story until the process dies at the point. @returns whether it did */
async function diesAt(
  { point, story }: Cell,
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  reached: Reached,
): Promise<Death> {
  const doomed = spawnProduct(dataDir, { ...settings, PENSTOCK_TEST_CRASH_AT: point })
  const ended = new AbortController()
  const up = doomed.ready.then(() => heightIn(dataDir)).catch(() => undefined)
  // The process dies under the story's calls: what it had reached by then is all that counts.
  const told = doomed.ready.then((product) => stories[story](product, reached)).catch(() => undefined)
  const late = new Promise<null>((resolve) => {
    const timer = setTimeout(() => resolve(null), VISIT_WITHIN_MS)
    ended.signal.addEventListener('abort', () => clearTimeout(timer))
  })
  const end = await Promise.race([doomed.ended, told.then(() => doomedSoon(doomed.ended)), late])
  ended.abort()
  await doomed.kill()
  await told
  const from = await up
  const lived = from === undefined ? [] : [{ from, to: heightIn(dataDir) }]
  return { visited: end?.signal === 'SIGKILL', lived }
}

/** A story may be over before the last visit, which needs a moment more. */
const doomedSoon = (ended: Promise<{ readonly signal: string | null }>): Promise<{ readonly signal: string | null } | null> =>
  Promise.race([ended, new Promise<null>((resolve) => setTimeout(() => resolve(null), 5000))])

function table(): string {
  const rows = [...results].map(([{ point, story }, result]) => [point, story, result] as const)
  const wide = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length))
  const lines = rows.map(([point, story, result]) => `${point.padEnd(wide(0))}  ${story.padEnd(wide(1))}  ${result}`)
  return `\nKilled at, while, and whole again after:\n${lines.toSorted().join('\n')}\n`
}
