import type { ModelConfiguration } from './configuration.ts'
import { expectedToHold } from './expected-to-hold.ts'
import { expectedToBeViolated } from './expected-to-be-violated.ts'

export const modelConfigurations: readonly ModelConfiguration[] = [...expectedToHold, ...expectedToBeViolated]

/** The fast set, which `npm run proof -- model --short` checks in about two minutes on two cores. */
export const fastConfigurations: readonly ModelConfiguration[] = modelConfigurations.filter(({ size }) => size === 'small')
