/** @returns the category of a stream named `<category>-<id>`; categories have no dash. */
export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'))

/** @returns the aggregate's id of a stream named `<category>-<id>`. */
export const aggregateIdOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1)
