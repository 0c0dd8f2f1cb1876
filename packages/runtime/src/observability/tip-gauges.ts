import type { ChainTip } from '@penstock/ports/chain.ts'
import { type GaugeReader, createSampledGauge } from './gauges.ts'

let newest: ChainTip | undefined

const height = createSampledGauge('penstock_chain_tip_height', 'Height of the newest block that was seen.')
const synced = createSampledGauge('penstock_chain_synced', '1 while the node reports that it has all blocks, else 0.')
// The age also grows while the node does not answer.
const age = createSampledGauge(
  'penstock_chain_tip_age_seconds',
  "Age of the newest block that was seen, by the block's own time.",
)

/** Reads the gauges of the chain tip, if this process follows a chain. */
export const readTip: GaugeReader = async () =>
  newest
    ? [
        { gauge: height, value: newest.height },
        { gauge: synced, value: newest.synced ? 1 : 0 },
        { gauge: age, value: Math.max(0, (Date.now() - newest.time) / 1000) },
      ]
    : []

/** Records a new tip of the chain that this process follows. */
export const recordTip = (tip: ChainTip): void => void (newest = tip)
