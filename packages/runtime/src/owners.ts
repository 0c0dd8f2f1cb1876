import { contracts } from '@penstock/contracts/all.ts'

/** Which service owns the streams of a category. */
export const owners: ReadonlyMap<string, string> = new Map(contracts.map(({ category, owner }) => [category, owner]))
