/** The name of a service's user at the brokers. @param users what such names begin with */
export const userOf = (users: string, service: string): string => `${users}${service.replaceAll('-', '_')}`
