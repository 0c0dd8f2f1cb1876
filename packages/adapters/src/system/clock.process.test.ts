import { clockContract } from '@penstock/ports/clock.contract.ts'
import { systemClock } from './clock.ts'

clockContract('of the machine', async () => ({ clock: systemClock, teardown: () => Promise.resolve() }))
