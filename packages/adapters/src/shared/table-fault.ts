/** Where what a store keeps beside its events, or the shape of its tables, says something else than the events do. */
export type TableFault = { readonly stream: string; readonly revision: number; readonly what: string }

/** What is wrong with the log as a whole, where no stream can be named. */
export const ofLog = (what: string): TableFault => ({ stream: 'log', revision: 0, what })
