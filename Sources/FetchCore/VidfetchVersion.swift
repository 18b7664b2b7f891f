/// The version of vidfetch, as semantic versioning writes it.
package let vidfetchVersion = "0.1.0"
