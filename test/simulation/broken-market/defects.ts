import { nondeterminismDefects } from './nondeterminism.ts'
import { gatewayDefects } from './gateway.ts'
import { holdDefects } from './holds.ts'
import { payoutDefects } from './payouts.ts'
import { readModelDefects } from './read-models.ts'
import { streamDefects } from './streams.ts'
import type { MarketDefect } from './tools.ts'

/** Defects that tests build into the market, to show that the checks detect them. */
export const marketDefects: Readonly<Record<string, MarketDefect>> = {
  ...gatewayDefects,
  ...payoutDefects,
  ...holdDefects,
  ...readModelDefects,
  ...streamDefects,
  ...nondeterminismDefects,
}
