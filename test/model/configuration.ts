/** Constants of module Penstock (docs/model/Penstock.tla), which describes each of them. */
export type Constants = {
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

/** One run of TLC. */
export type Configuration = {
  readonly name: string
  /** One sentence: the case that holds, or the mistake that is injected. */
  readonly about: string
  /** 'holds', or the one property that has to be violated. */
  readonly expected: string
  /** `small` ones are the fast set; `large` ones begin first. */
  readonly size: 'small' | 'medium' | 'large'
  readonly invariants: readonly string[]
  readonly properties: readonly string[]
  /** With fairness, which properties about the end of things need. */
  readonly isFair: boolean
  readonly constants: Constants
}

export const base: Constants = {
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

/** The configuration as TLC reads it. */
export function configText({ invariants, properties, isFair, constants }: Configuration): string {
  const { Replicas, ...others } = constants
  const replicas = ['r1', 'r2'].slice(0, Replicas)
  return [
    `SPECIFICATION ${isFair ? 'FairSpec' : 'Spec'}`,
    'CONSTANTS',
    ...replicas.map((replica) => `  ${replica} = ${replica}`),
    `  Replicas = {${replicas.join(', ')}}`,
    ...Object.entries(others).map(([name, value]) => `  ${name} = ${valueText(value)}`),
    // TLC may overlook a violation of liveness where it takes states for the same by symmetry.
    ...(replicas.length > 1 && !isFair ? ['SYMMETRY Perms'] : []),
    ...invariants.map((name) => `INVARIANT ${name}`),
    ...properties.map((name) => `PROPERTY ${name}`),
    '',
  ].join('\n')
}

function valueText(value: Exclude<Constants[keyof Constants], undefined>): string {
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'number') return `${value}`
  if (typeof value === 'string') return `"${value}"`
  return `{${value.map((one) => `"${one}"`).join(', ')}}`
}
