import type { Job } from '@penstock/runtime/service.ts'
import { isTooHasty } from '../heights.ts'
import type { SettlementPorts } from './ports.ts'

/** What every order brings with it; its own number is what counts when its invoice is wanted. */
const GUARD_BLOCKS = 24

/**
 * Says at start what would otherwise show only when somebody buys. Nothing but new holds depends on it: what is held is
 * guarded all the same.
 */
export const checkNodeJob: Job<SettlementPorts> = {
  name: 'check-node',
  async run({ ports: { lightning, log } }) {
    const { holdExpiryDelta, version } = await lightning.info()
    if (isTooHasty(holdExpiryDelta, GUARD_BLOCKS))
      log.error(
        { version, holdExpiryDelta, guardBlocks: GUARD_BLOCKS },
        'the node cancels held payments by itself before our guard comes, or nobody knows when: no new payment is taken',
      )
  },
}
