import { base, type Configuration, type Constants } from './configuration.ts'

/** Constants and properties that several configurations share. */

/** Holds always, whoever lies. */
const safety = [
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
const steps = ['NeverBoth', 'WindowOnce', 'NotedInTime', 'SoldOpen']
export const reachable = [...steps, 'NotTakenFromReachable']
export const sellerSafe = [...safety, 'SellerSafe', 'LossStaysOpen']
export const buyerSafe = [...safety, 'BuyerSafe']
export const bothSafe = [...sellerSafe, 'BuyerSafe']
export const ends = ['OrdersEnd', 'PayablesEnd']

/** Fewer heights, for configurations with many states. */
export const low: Partial<Constants> = {
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
export const lowest: Partial<Constants> = { ...low, E: 6, MaxH: 8 }

type Wanted = Pick<Configuration, 'name' | 'about'> &
  Partial<Omit<Configuration, 'constants'>> & { readonly constants?: Partial<Constants> }

export const configuration = ({ constants, ...rest }: Wanted): Configuration => ({
  expected: 'holds',
  size: 'medium',
  invariants: safety,
  properties: rest.isFair ? [] : steps,
  isFair: false,
  ...rest,
  constants: { ...base, ...constants },
})
