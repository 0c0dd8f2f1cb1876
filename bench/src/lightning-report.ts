import { quantile } from './harness.ts'
import type { Shares } from './lightning-shares.ts'
import { machine } from './machine.ts'

const seconds = (ms: number): string => (ms / 1000).toFixed(2)

export function tableOf(all: readonly Shares[]): string {
  const line = (name: string, share: keyof Shares): string => {
    const values = all.map((one) => one[share])
    return `| ${name} | ${[0.5, 0.9, 0.99].map((part) => seconds(quantile(values, part))).join(' | ')} |`
  }
  const lines = [line('the seller', 'seller'), line('the chain', 'chain'), line('the market', 'us'), line('all', 'whole')]
  return ['| seconds that the others wait for | p50 | p90 | p99 |', '|---|---:|---:|---:|', ...lines].join('\n')
}

/** docs/benchmarks-lightning.md */
export function lightningPage(
  all: readonly Shares[],
  { atOnce, blockEveryMs }: { readonly atOnce: number; readonly blockEveryMs: number },
): string {
  const own = quantile(
    all.map(({ us }) => us),
    0.99,
  )
  const parts = [
    '# Benchmarks on a real Lightning network',
    `Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:lightning\`, which writes this page. Everything runs on one machine: btcd, five lnd nodes, the market on SQLite, two seller-agents, and those who buy and measure.`,
    ['| | |', '|---|---|', ...machine().map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
    `## From the held payment to the settled one`,
    `${all.length} sales, ${atOnce} at once, a block every ${blockEveryMs / 1000} s.`,
    tableOf(all),
    `The market's own share is wanted below 1 s at p99: ${own < 1000 ? 'held' : 'missed'}. It is the time until a seller is asked, until a named outpoint may be published, and from the making of the block that proves the channel to the settled payment, with all that its lnd needs for that. The seller's is the time until its agent has prepared the channel, and from the answer to the funding in the mempool. The chain's is the rest.`,
  ]
  return `${parts.join('\n\n')}\n`
}
