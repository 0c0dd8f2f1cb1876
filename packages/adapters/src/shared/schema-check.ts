/** A place where the derived data of a store, or the shape of its tables, contradicts its events. */
export type SchemaFault = { readonly stream: string; readonly revision: number; readonly what: string }

/** A fault of the log as a whole, which belongs to no stream. */
export const createLogFault = (what: string): SchemaFault => ({ stream: 'log', revision: 0, what })
