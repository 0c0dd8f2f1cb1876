import type { Clock } from '@penstock/ports/clock.ts'
import type { RateSource } from '@penstock/ports/rates.ts'

/** A constant price, for the simulated network, which uses no internet. Its name says that the price is simulated. */
export const fixedRateSource = (centsPerBtc: bigint, clock: Clock, name = 'fixed (simulated)'): RateSource => ({
  name,
  read: async () => ({ source: name, centsPerBtc, at: clock.now() }),
})
