/** The constants of the TLA+ module Penstock. docs/model/Penstock.tla describes each constant. */
export type ModelConstants = {
  readonly E: number
  readonly Guard: number
  readonly Own: number
  readonly Req: number
  readonly PayDepth: number
  readonly SeenIn: number
  readonly Edge: number
  readonly Held: number
  readonly MaxH: number
  readonly MaxNames: number
  readonly MaxSaid: number
  readonly Outs: readonly ('a1' | 'a2' | 'b1')[]
  readonly Replicas: 1 | 2
  readonly Honest: readonly Seller[]
  readonly Rails: readonly Seller[]
  readonly Kinds: readonly ('good' | 'small' | 'alien')[]
  readonly Twins: readonly Seller[]
  readonly Known: readonly Seller[]
  readonly Buyer: 'honest' | 'flaky' | 'hider' | 'mute' | 'closer' | 'thief'
  readonly ReOrgs: number
  readonly Outages: number
  readonly Downs: readonly ('away' | 'starting')[]
  readonly Void: boolean
  readonly QuickOrder: boolean
  readonly OperatorCloses: boolean
  readonly SpendsVanish: boolean
  readonly Faults: readonly string[]
}
type Seller = 'A' | 'B'

/** The input of one run of TLC, the model checker of TLA+. */
export type ModelConfiguration = {
  readonly name: string
  /** One sentence about the checked situation, or about the injected fault. */
  readonly description: string
  /** 'holds', or the property that TLC has to report as violated. */
  readonly expected: string
  /** By the number of states. Small configurations form the fast set of `npm run proof -- model --short`, and large configurations start first. */
  readonly size: 'small' | 'medium' | 'large'
  readonly invariants: readonly string[]
  readonly properties: readonly string[]
  /** Whether the specification assumes fairness, which liveness properties need. */
  readonly isFair: boolean
  readonly constants: ModelConstants
}

export const baseConstants: ModelConstants = {
  E: 9,
  Guard: 3,
  Own: 1,
  Req: 2,
  PayDepth: 3,
  SeenIn: 2,
  Edge: 1,
  Held: 3,
  MaxH: 12,
  MaxNames: 2,
  MaxSaid: 2,
  Outs: ['a1'],
  Replicas: 1,
  Honest: ['A'],
  Rails: [],
  Kinds: ['good', 'small', 'alien'],
  Twins: [],
  Known: [],
  Buyer: 'honest',
  ReOrgs: 0,
  Outages: 0,
  Downs: ['away'],
  Void: false,
  QuickOrder: false,
  OperatorCloses: false,
  SpendsVanish: false,
  Faults: [],
}

/** @returns the text of a TLC configuration file */
export function formatConfiguration({ invariants, properties, isFair, constants }: ModelConfiguration): string {
  const { Replicas, ...otherConstants } = constants
  const replicas = ['r1', 'r2'].slice(0, Replicas)
  return [
    `SPECIFICATION ${isFair ? 'FairSpec' : 'Spec'}`,
    'CONSTANTS',
    ...replicas.map((replica) => `  ${replica} = ${replica}`),
    `  Replicas = {${replicas.join(', ')}}`,
    ...Object.entries(otherConstants).map(([name, value]) => `  ${name} = ${formatValue(value)}`),
    // With symmetry reduction TLC can miss a violation of a liveness property.
    ...(replicas.length > 1 && !isFair ? ['SYMMETRY Perms'] : []),
    ...invariants.map((name) => `INVARIANT ${name}`),
    ...properties.map((name) => `PROPERTY ${name}`),
    '',
  ].join('\n')
}

function formatValue(value: Exclude<ModelConstants[keyof ModelConstants], undefined>): string {
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'number') return `${value}`
  if (typeof value === 'string') return `"${value}"`
  return `{${value.map((one) => `"${one}"`).join(', ')}}`
}
