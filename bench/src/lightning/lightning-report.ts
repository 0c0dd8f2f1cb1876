import { computeQuantile } from '../harness.ts'
import type { MeasuredSales, DelayShares } from './delay-shares.ts'
import { renderMachineTable } from '../machine.ts'

const formatSeconds = (ms: number): string => (ms / 1000).toFixed(2)

export function renderShareTable(all: readonly DelayShares[]): string {
  const line = (name: string, share: keyof DelayShares): string => {
    const values = all.map((one) => one[share])
    return `| ${name} | ${[0.5, 0.9, 0.99].map((part) => formatSeconds(computeQuantile(values, part))).join(' | ')} |`
  }
  const lines = [
    line('the seller', 'seller'),
    line('of the seller: to announce the channel, or to forward the probe and its failure', 'proving'),
    line('the chain', 'chain'),
    line('the market', 'market'),
    line('of the market: from the held payment to the request to the seller', 'asking'),
    line('of the market: from the submitted outpoint to its acceptance', 'answering'),
    line('of the market: from the block that proves the channel to the settled payment, without the proof', 'settling'),
    line('the market, with the proof', 'withProof'),
    line('all', 'total'),
  ]
  return ['| share of the time, in seconds | p50 | p90 | p99 |', '|---|---:|---:|---:|', ...lines].join('\n')
}

/** The market's own share must be below this at p99. */
const TARGET_MS = 1000

/** Sales under one load. */
export type SalesLoad = { readonly name: string } & MeasuredSales

/** @returns the missed targets as sentences; empty if all are met */
export const listShortfalls = (loads: readonly SalesLoad[]): readonly string[] =>
  loads.flatMap(({ name, shares, missing }) => {
    const marketShareMs = computeMarketShare(shares)
    const isMet = marketShareMs < TARGET_MS
    return [
      ...missing.map((what) => `${name}: a sale was not measured, missing ${what}`),
      ...(isMet
        ? []
        : [
            `${name}: missed: the market's own share is ${formatSeconds(marketShareMs)} s at p99, not below ${formatSeconds(TARGET_MS)} s`,
          ]),
    ]
  })

const computeMarketShare = (shares: readonly DelayShares[]): number =>
  computeQuantile(
    shares.map(({ market }) => market),
    0.99,
  )

/** Renders docs/benchmarks-lightning.md. */
export function renderLightningPage(loads: readonly SalesLoad[], blockEveryMs: number): string {
  const parts = [
    '# Benchmarks on a real Lightning network',
    `Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:lightning\`, which writes this page. Everything runs on one machine: btcd, five lnd nodes, the market on SQLite, two seller-agents, the buyers, and the benchmark itself. In production, sellers and buyers have machines of their own. Here their nodes and agents run at a lower priority (nice 10), so that their load does not count as the market's share.`,
    renderMachineTable(),
    `A measurement begins when lnd reports the held payment on a separate stream of the benchmark. It ends when the market has recorded that lnd settled the payment. A block is mined every ${blockEveryMs / 1000} s, or later if the nodes take longer to sync. The benchmark reads the orders from the store, so that no client queries the market meanwhile. Twenty sales warm everything up and are not measured.`,
    `The market's own share has three parts: the time until the seller receives its request, the time until the seller may publish a submitted outpoint, and the time from the block that proves the channel to the settled payment. It includes the time of the market's lnd, and excludes the time that other nodes take for the proof. The seller's and the buyer's nodes announce the channel. The time for the proof ends when the market's node reports this announcement on a separate stream of the benchmark. If the market sends a probe, the time for the proof is the time during which the probe passes through these nodes. The market's lnd records the start and the failure of each probe. The time for the proof includes the work of the market's node on an announcement or a probe, which cannot be separated. The line "the market, with the proof" adds the time for the proof to the market's own share. The seller's share is the time until its agent has prepared the channel, the time from the answer to the funding in the mempool, and the time for the proof. The chain's share is the rest.`,
    ...loads.flatMap(({ name, shares, missing }) => [
      `## ${name}`,
      `${shares.length} sales. The target for the market's own share is below ${TARGET_MS / 1000} s at p99: ${computeMarketShare(shares) < TARGET_MS ? 'met' : 'missed'}.`,
      renderShareTable(shares),
      ...(missing.length === 0 ? [] : [`${missing.length} sales were not measured: ${missing.join('; ')}.`]),
    ]),
  ]
  return `${parts.join('\n\n')}\n`
}
