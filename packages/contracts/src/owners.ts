import { contracts } from './contracts.ts'
import { sendersOf } from './define.ts'

/** The service that owns the streams of a category, by category. */
export const categoryOwners: ReadonlyMap<string, string> = new Map(contracts.map(({ category, owner }) => [category, owner]))

/** @returns the services that accept commands from `sender` */
export const findCommandedServices = (sender: string): readonly string[] => [
  ...new Set(contracts.filter((contract) => sendersOf(contract).includes(sender)).map(({ owner }) => owner)),
]
