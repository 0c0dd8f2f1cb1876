import type { Configuration } from './configuration.ts'
import { holding } from './holding.ts'
import { violated } from './violated.ts'

export const configurations: readonly Configuration[] = [...holding, ...violated]

/** The fast set: what `npm test` checks, in about two minutes on two cores. */
export const fastSet: readonly Configuration[] = configurations.filter(({ size }) => size === 'small')
