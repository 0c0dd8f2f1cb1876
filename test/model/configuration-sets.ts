import { baseConstants, type ModelConfiguration, type ModelConstants } from './configuration.ts'

/**
 * This file contains constants and properties that several configurations share. docs/model/README.md explains each property,
 * and docs/model/Penstock.tla each constant.
 */

/** Invariants that hold in every configuration, also if the seller or the buyer is dishonest. */
const safetyInvariants = [
  'Taken',
  'OneCall',
  'PaidOnce',
  'Exclusive',
  'OneOrder',
  'NoneForgotten',
  'GuardWaits',
  'EndsTrue',
  'NamedIsNoted',
  'FewNames',
]
/** Properties of the steps of a run. */
const stepProperties = ['NeverBoth', 'WindowOnce', 'NotedInTime', 'SoldOpen']
/** The properties of the steps, and one property of a buyer that our node has reached. */
export const reachableProperties = [...stepProperties, 'NotTakenFromReachable']
export const sellerSafetyInvariants = [...safetyInvariants, 'SellerSafe', 'LossStaysOpen']
export const buyerSafetyInvariants = [...safetyInvariants, 'BuyerSafe']
export const allSafetyInvariants = [...sellerSafetyInvariants, 'BuyerSafe']
export const endProperties = ['OrdersEnd', 'PayablesEnd']

/** Lower block heights, for configurations with many states. */
export const lowHeights: Partial<ModelConstants> = {
  E: 7,
  Guard: 3,
  Own: 1,
  Req: 1,
  PayDepth: 2,
  SeenIn: 1,
  Edge: 0,
  Held: 2,
  MaxH: 9,
}
export const lowestHeights: Partial<ModelConstants> = { ...lowHeights, E: 6, MaxH: 8 }

/** No seller is honest. */
export const dishonestSellers: Partial<ModelConstants> = { Honest: [] }

type ConfigurationOptions = Pick<ModelConfiguration, 'name' | 'description'> &
  Partial<Omit<ModelConfiguration, 'constants'>> & { readonly constants?: Partial<ModelConstants> }

export const createConfiguration = ({ constants, ...rest }: ConfigurationOptions): ModelConfiguration => ({
  expected: 'holds',
  size: 'medium',
  invariants: safetyInvariants,
  properties: rest.isFair ? [] : stepProperties,
  isFair: false,
  ...rest,
  constants: { ...baseConstants, ...constants },
})
