import { holdHeights } from '@penstock/contracts/order/heights.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import { isHoldExpiryDeltaTooLarge } from '../hold/heights.ts'
import type { SettlementPorts } from './ports.ts'

/**
 * Logs at start that the hold-expiry delta is too large or unknown; otherwise this appears only at the first purchase. Such a
 * delta prevents new holds, but the guard still checks held payments.
 */
export const checkNodeJob: ServiceJob<SettlementPorts> = {
  name: 'check-node',
  async run({ ports: { lightning, log } }) {
    const { guardBlocks } = holdHeights
    const { holdExpiryDelta, version } = await lightning.info()
    if (isHoldExpiryDeltaTooLarge(holdExpiryDelta, guardBlocks))
      log.error(
        { version, holdExpiryDelta, guardBlocks },
        "lnd's hold-expiry delta is too large or unknown; not issuing hold invoices",
      )
  },
}
