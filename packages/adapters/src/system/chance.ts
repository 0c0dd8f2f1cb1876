import { randomBytes } from 'node:crypto'
import type { RandomSource } from '@penstock/kernel/backoff.ts'

/** Randomness for waits in the adapters of real servers, which the simulation does not use. */
export const systemChance: RandomSource = { random: (bytes) => randomBytes(bytes) }
