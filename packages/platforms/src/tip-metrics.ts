import type { ChainTip } from '@penstock/ports/chain.ts'
import { type Look, lookedUp } from '@penstock/runtime/gauges.ts'

let newest: ChainTip | undefined

const height = lookedUp('penstock_chain_tip_height', 'Height of the newest block that was seen.')
const synced = lookedUp('penstock_chain_synced', '1 while the node believes that it has every block there is.')
// Grows also while the node says nothing any more.
const age = lookedUp('penstock_chain_tip_age_seconds', "Age of the newest block that was seen, by the block's own time.")

/** Of the chain that this process follows, if it follows one. */
export const tipNow: Look = async () =>
  newest
    ? [
        { gauge: height, value: newest.height },
        { gauge: synced, value: newest.synced ? 1 : 0 },
        { gauge: age, value: Math.max(0, (Date.now() - newest.time) / 1000) },
      ]
    : []

/** Told of every tip that this process follows. */
export const noteTip = (tip: ChainTip): void => void (newest = tip)
