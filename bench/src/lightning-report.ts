import { quantile } from './harness.ts'
import type { Measured, Shares } from './lightning-shares.ts'
import { machine } from './machine.ts'

const seconds = (ms: number): string => (ms / 1000).toFixed(2)

export function tableOf(all: readonly Shares[]): string {
  const line = (name: string, share: keyof Shares): string => {
    const values = all.map((one) => one[share])
    return `| ${name} | ${[0.5, 0.9, 0.99].map((part) => seconds(quantile(values, part))).join(' | ')} |`
  }
  const lines = [
    line('the seller', 'seller'),
    line('of it: to announce the channel, or to pass the probe on and back', 'proving'),
    line('the chain', 'chain'),
    line('the market', 'us'),
    line('of it: until a seller is asked', 'asking'),
    line('of it: until an outpoint is answered', 'answering'),
    line('of it: from the block that is deep enough to the settled payment, less the proof', 'settling'),
    line('the market, with the proof', 'withProof'),
    line('all', 'whole'),
  ]
  return ['| seconds that the others wait for | p50 | p90 | p99 |', '|---|---:|---:|---:|', ...lines].join('\n')
}

/** What is wanted of the market's own share. */
const WANTED_MS = 1000

/** Sales under one load. */
export type Load = { readonly name: string } & Measured

/** Why a run is not what is wanted, in sentences; empty where it is. */
export const shortfalls = (loads: readonly Load[]): readonly string[] =>
  loads.flatMap(({ name, shares, missing }) => {
    const own = ownShare(shares)
    const kept = own < WANTED_MS
    return [
      ...missing.map((what) => `${name}: a sale was not measured, missing ${what}`),
      ...(kept
        ? []
        : [`${name}: short: the market's own share is ${seconds(own)} s at p99, wanted below ${seconds(WANTED_MS)} s`]),
    ]
  })

const ownShare = (shares: readonly Shares[]): number =>
  quantile(
    shares.map(({ us }) => us),
    0.99,
  )

/** docs/benchmarks-lightning.md */
export function lightningPage(loads: readonly Load[], blockEveryMs: number): string {
  const parts = [
    '# Benchmarks on a real Lightning network',
    `Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:lightning\`, which writes this page. Everything runs on one machine: btcd, five lnd nodes, the market on SQLite, two seller-agents, and those who buy and measure. Nodes and agents of sellers and buyers, who would have machines of their own, run at a lower priority (nice 10): what they do counts for them.`,
    ['| | |', '|---|---|', ...machine().map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
    `It begins when lnd, on a stream of the benchmark's own, tells of the payment that it holds, and ends when the market has written down that lnd settled it. A block is made every ${blockEveryMs / 1000} s and as much later as the nodes take to have it. What becomes of the orders is read from the store, so that nobody asks the market meanwhile. Twenty sales that are not measured warm everything up.`,
    `The market's own share is the time until a seller is asked, until a named outpoint may be published, and from the making of the block that proves the channel to the settled payment, with all that its lnd needs for that, less what others take for the proof: the time until the market's node tells a stream of the benchmark's own of the channel that the seller's and the buyer's node announce, or while the market's probe is on its way through them, by lnd's record of each attempt. What the market's node does with an announcement or a probe lies in it, and cannot be told apart; the share with all of it is the line below. The seller's is the time until its agent has prepared the channel, from the answer to the funding in the mempool, and that for the proof. The chain's is the rest.`,
    ...loads.flatMap(({ name, shares, missing }) => [
      `## ${name}`,
      `${shares.length} sales. The market's own share is wanted below ${WANTED_MS / 1000} s at p99: ${ownShare(shares) < WANTED_MS ? 'held' : 'short'}.`,
      tableOf(shares),
      ...(missing.length === 0 ? [] : [`${missing.length} sales were not measured: ${missing.join('; ')}.`]),
    ]),
  ]
  return `${parts.join('\n\n')}\n`
}
