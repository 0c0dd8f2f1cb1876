import type { Clock } from '@penstock/ports/clock.ts'
import type { RateSource } from '@penstock/ports/rates.ts'

/** One price that never changes, named as what it is: for the simulated network, which never asks the internet. */
export const fixedRate = (centsPerBtc: bigint, clock: Clock, name = 'fixed (simulated)'): RateSource => ({
  name,
  read: async () => ({ source: name, centsPerBtc, at: clock.now() }),
})
